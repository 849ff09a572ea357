# A small image for CI systems and clusters: the command, statically linked, beside a shell.
#
#   docker build --tag ulpgate .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/repository" ulpgate ulpgate gate
#
# It has no ENTRYPOINT: GitLab and Kubernetes start a shell in it.
FROM rust:1-bookworm AS build
WORKDIR /sources
COPY . .
# Named although it is the machine's own, so that build scripts and procedural macros are linked as usual.
RUN target=$(rustc -vV | sed -n 's/^host: //p') \
    && RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --target "$target" \
    && install -D "target/$target/release/ulpgate" /image/usr/local/bin/ulpgate \
    && mkdir -p /image/usr/share/doc/ulpgate \
    && cp -R LICENSE-MIT LICENSE-APACHE NOTICE.md docs/licenses /image/usr/share/doc/ulpgate/

FROM busybox:1.37
COPY --from=build /image /
WORKDIR /repository
CMD ["ulpgate", "--help"]

//! Charts as SVG, drawn by plotters. Colours and dashes are classes of the page's style, so that one drawing serves
//! light, dark and paper.

use std::ops::Range;

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::axis::ChartAxis;

/// A drawing with two axes.
pub(super) struct Chart {
    pub x: ChartAxis,
    pub y: ChartAxis,
    pub marks: Vec<ChartMark>,
}

/// One thing that is drawn. Values are as measured; the axes give their places, and values without one are left out.
pub(super) enum ChartMark {
    /// A point of the series with this number, which gives its colour and shape.
    Point(usize, [f64; 2]),
    /// A vertical interval through a point of a series: where, from, to.
    Interval(usize, [f64; 3]),
    /// A line through points of a series.
    Line(usize, Vec<[f64; 2]>),
    /// A line that theory gives, dashed.
    Theory(usize, Vec<[f64; 2]>),
    /// The area between these corners.
    Band(usize, Vec<[f64; 2]>),
    /// A line that nothing should be above, or on which all should lie.
    Limit(Vec<[f64; 2]>),
}

/// The number of series that differ in colour and shape; later ones begin anew.
pub(super) const SERIES: usize = 8;

/// Units of the drawing per pixel of the page: plotters places in whole units.
const FINE: i32 = 2;
const SIZE: (u32, u32) = (840, 560);
const TEXT: i32 = 15 * FINE;

/// Stand-ins for colours, which [`with_classes`] replaces by classes. Blue counts, so that no two are equal.
const INK: RGBColor = RGBColor(0, 0, 1);
const GRID: RGBColor = RGBColor(0, 0, 2);
const LIMIT: RGBColor = RGBColor(0, 0, 3);

/// The stand-in for a series, in one of its roles.
fn series_colour(role: u8, series: usize) -> RGBColor {
    RGBColor(0, role, (series % SERIES) as u8)
}

const SOLID: u8 = 1;
const DASHED: u8 = 2;
const PALE: u8 = 3;
const POINT: u8 = 4;

type Coordinate = Cartesian2d<ChartAxis, ChartAxis>;
type Drawn<T> = Result<T, DrawingAreaErrorKind<std::io::Error>>;

impl Chart {
    /// The number of points that the chart shows.
    pub fn points(&self) -> usize {
        let shown = |[x, y]: &[f64; 2]| self.x.at(*x).is_some() && self.y.at(*y).is_some();
        self.marks.iter().filter(|mark| matches!(mark, ChartMark::Point(_, at) if shown(at))).count()
    }

    /// The SVG element, with this name for readers who do not see it.
    pub fn svg(&self, name: &str) -> Markup {
        let (width, height) = SIZE;
        let body = on_canvas(SIZE, |root| self.draw(&root));
        html! { svg.chart viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(name) { (body) } }
    }

    fn draw(&self, root: &DrawingArea<SVGBackend, Shift>) -> Drawn<()> {
        let mut chart = ChartBuilder::on(root)
            .margin(6 * FINE)
            // The uppermost tick's text stands half above the axis.
            .margin_top(14 * FINE)
            .margin_right(14 * FINE)
            .set_label_area_size(LabelAreaPosition::Left, 62 * FINE)
            .set_label_area_size(LabelAreaPosition::Bottom, 42 * FINE)
            .build_cartesian_2d(self.x.clone(), self.y.clone())?;
        let text = ("sans-serif", TEXT).into_font().color(&INK);
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .label_style(text.clone())
            .axis_desc_style(text)
            .axis_style(INK.stroke_width(FINE as u32))
            .bold_line_style(GRID.stroke_width(FINE as u32))
            .light_line_style(TRANSPARENT)
            .draw()?;
        for mark in &self.marks {
            self.mark(mark, chart.plotting_area())?;
        }
        Ok(())
    }

    fn mark(&self, mark: &ChartMark, area: &DrawingArea<SVGBackend, Coordinate>) -> Drawn<()> {
        let place = |[x, y]: &[f64; 2]| Some((self.x.at(*x)?, self.y.at(*y)?));
        let places = |list: &[[f64; 2]]| list.iter().filter_map(place).collect::<Vec<_>>();
        let wide = 2 * FINE as u32;
        match mark {
            ChartMark::Point(series, at) => match place(at) {
                Some(at) => draw_point(area, *series, at),
                None => Ok(()),
            },
            ChartMark::Interval(series, [x, from, to]) => area.draw(&PathElement::new(
                places(&[[*x, *from], [*x, *to]]),
                series_colour(SOLID, *series).stroke_width(wide),
            )),
            ChartMark::Line(series, list) => {
                area.draw(&PathElement::new(places(list), series_colour(SOLID, *series).stroke_width(wide)))
            }
            ChartMark::Theory(series, list) => {
                area.draw(&PathElement::new(places(list), series_colour(DASHED, *series).stroke_width(wide)))
            }
            ChartMark::Band(series, list) => {
                area.draw(&Polygon::new(places(list), series_colour(PALE, *series).filled()))
            }
            ChartMark::Limit(list) => area.draw(&PathElement::new(places(list), LIMIT.stroke_width(wide))),
        }
    }
}

/// A point in the shape of its series: full and hollow squares, circles and triangles, an upright and a lying cross.
fn draw_point<C: CoordTranslate<From = (f64, f64)>>(
    area: &DrawingArea<SVGBackend, C>,
    series: usize,
    at: (f64, f64),
) -> Drawn<()> {
    let r = 5 * FINE;
    let colour = series_colour(POINT, series);
    let (full, hollow) = (colour.filled(), colour.stroke_width(2 * FINE as u32));
    let stroke = |path| area.draw(&(EmptyElement::at(at) + PathElement::new(path, hollow)));
    let square = [(-r + 1, -r + 1), (r - 1, r - 1)];
    match series % SERIES {
        0 => area.draw(&Circle::new(at, r, full)),
        1 => area.draw(&(EmptyElement::at(at) + Rectangle::new(square, full))),
        2 => area.draw(&TriangleMarker::new(at, r + 2, full)),
        3 => stroke(vec![(-r, -r), (r, r), (0, 0), (-r, r), (r, -r)]),
        4 => area.draw(&Circle::new(at, r, hollow)),
        5 => area.draw(&(EmptyElement::at(at) + Rectangle::new(square, hollow))),
        6 => stroke(vec![(0, -r - 2), (r, r - 2), (-r, r - 2), (0, -r - 2)]),
        _ => stroke(vec![(0, -r), (0, r), (0, 0), (-r, 0), (r, 0)]),
    }
}

/// A point of a series beside its line, for the legend.
pub(super) fn swatch(series: usize) -> Markup {
    let body = |area: &Strip<'_>, middle: f64| {
        let line = vec![(0.0, middle), (1.0, middle)];
        area.draw(&PathElement::new(line, series_colour(SOLID, series).stroke_width(2 * FINE as u32)))?;
        draw_point(area, series, (0.5, middle))
    };
    strip("swatch", (36, 16), 0.0..1.0, body)
}

/// A share with its interval on a line from 0 to `most`, for a row of a table.
pub(super) fn whisker([share, low, high]: [f64; 3], most: f64) -> Markup {
    let body = |area: &Strip<'_>, middle: f64| {
        let thin = FINE as u32;
        area.draw(&PathElement::new(vec![(0.0, middle), (most, middle)], GRID.stroke_width(thin)))?;
        area.draw(&PathElement::new(
            vec![(low, middle), (high, middle)],
            series_colour(SOLID, 0).stroke_width(3 * thin),
        ))?;
        draw_point(area, 0, (share, middle))
    };
    strip("whisker", (160, 18), -0.04 * most..1.04 * most, body)
}

type Strip<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A drawing of one line's height, of pixels, in the text. Its width is a range of values, and `draw` is given its
/// middle.
fn strip(
    class: &str,
    (width, height): (u32, u32),
    values: Range<f64>,
    draw: impl Fn(&Strip<'_>, f64) -> Drawn<()>,
) -> Markup {
    let (width, height) = (width * FINE as u32, height * FINE as u32);
    let body = on_canvas((width, height), |root| {
        let (across, upright) = (RangedCoordf64::from(values.clone()), RangedCoordf64::from(0.0..f64::from(height)));
        let places = (0..width as i32, 0..height as i32);
        draw(&root.apply_coord_spec(Cartesian2d::new(across, upright, places)), f64::from(height) / 2.0)
    });
    html! { svg class=(class) viewBox={ "0 0 " (width) " " (height) } aria-hidden="true" { (body) } }
}

/// The drawing, without the element around it.
fn on_canvas(size: (u32, u32), draw: impl Fn(DrawingArea<SVGBackend, Shift>) -> Drawn<()>) -> Markup {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        // The sink is memory: drawing cannot fail.
        let _ = draw(root.clone()).and_then(|()| root.present());
    }
    let inside = text.split_once('>').and_then(|(_, rest)| rest.rsplit_once("</svg>")).map_or("", |(inside, _)| inside);
    PreEscaped(with_classes(inside))
}

/// Puts classes in the place of the stand-ins for colours, and leaves out everything that the style says.
fn with_classes(text: &str) -> String {
    let class = |green: u8, blue: u8| match green {
        0 => ["", "ink", "grid", "limit"].get(usize::from(blue)).map(|name| name.to_string()),
        SOLID => Some(format!("s{blue}")),
        DASHED => Some(format!("s{blue} dashed")),
        PALE => Some(format!("s{blue} pale")),
        POINT => Some(format!("s{blue} point")),
        _ => None,
    };
    let mut out = text.replace(" opacity=\"1\"", "").replace(" font-family=\"sans-serif\"", "").replace('\n', "");
    for green in 0..=POINT {
        for blue in 0..=SERIES as u8 {
            let Some(class) = class(green, blue) else { continue };
            for attribute in ["fill", "stroke"] {
                let stand_in = format!("{attribute}=\"#00{green:02X}{blue:02X}\"");
                out = out.replace(&stand_in, &format!("class=\"{attribute} {class}\""));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(marks: Vec<ChartMark>) -> Chart {
        Chart {
            x: ChartAxis::of_sizes("size n", [16, 256]).unwrap(),
            y: ChartAxis::log("error", [1e-7, 1e-4]).unwrap(),
            marks,
        }
    }

    /// The number of shapes that are drawn, beside those of the axes.
    fn shapes(marks: Vec<ChartMark>) -> usize {
        let count = |chart: Chart| {
            let text = chart.svg("errors").into_string();
            ["<circle", "<rect", "<polygon", "<polyline", "<line"].iter().map(|shape| text.matches(shape).count()).sum()
        };
        let (axes, all): (usize, usize) = (count(chart(Vec::new())), count(chart(marks)));
        all - axes
    }

    #[test]
    fn every_series_has_points_of_its_own_shape() {
        let drawn = |series: usize| swatch(series).into_string().replace(&format!("s{series}"), "s");
        let of: std::collections::BTreeSet<String> = (0..SERIES).map(drawn).collect();
        assert_eq!(of.len(), SERIES);
        for series in 0..SERIES {
            // One element each, so that points can be counted.
            assert_eq!(shapes(vec![ChartMark::Point(series, [16.0, 1e-5])]), 1, "{series}");
        }
    }

    #[test]
    fn what_has_no_place_is_not_drawn_and_not_counted() {
        let points = |at: &[[f64; 2]]| at.iter().map(|at| ChartMark::Point(0, *at)).collect::<Vec<_>>();
        let of_three = points(&[[16.0, 1e-5], [256.0, 0.0], [64.0, f64::NAN], [64.0, 1e-6]]);
        assert_eq!(chart(of_three).points(), 2);
        assert_eq!(shapes(points(&[[16.0, 1e-5], [256.0, 0.0], [64.0, f64::INFINITY], [64.0, 1e-6]])), 2);
    }

    #[test]
    fn a_drawing_has_classes_in_the_place_of_colours() {
        let ends = vec![[16.0, 1e-6], [256.0, 1e-5]];
        let corners = vec![[16.0, 1e-6], [256.0, 1e-5], [256.0, 1e-6]];
        let marks = vec![
            ChartMark::Band(1, corners),
            ChartMark::Line(1, ends.clone()),
            ChartMark::Theory(2, ends.clone()),
            ChartMark::Interval(9, [64.0, 1e-6, 1e-5]),
            ChartMark::Limit(ends),
        ];
        let text = chart(marks).svg("errors <of> \"sums\"").into_string();
        assert!(!text.contains("=\"#") && !text.contains("font-family"), "{text}");
        for class in ["fill s1 pale", "stroke s1\"", "stroke s2 dashed", "stroke limit", "stroke grid", "fill ink"] {
            assert!(text.contains(class), "{class}: {text}");
        }
        assert!(text.contains("aria-label=\"errors &lt;of&gt; &quot;sums&quot;\""), "{text}");
        assert!(text.contains(">size n<") && text.contains(">10⁻⁵<") && text.contains(">256<"), "{text}");
    }
}

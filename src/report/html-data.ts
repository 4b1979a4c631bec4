/**
 * What a report page shows, as one document: texts and tables that stand in the HTML itself, and charts that the page's script draws.
 * `html-run.ts`, `html-sweep.ts` and `html-compare.ts` make it, `html-page.ts` writes it out, `page/draw.ts` draws the charts in the browser.
 * Every text may come from outside: it is escaped where it is written, never here.
 */

/** A cell: text, or a number with the digits it is shown with. */
export type Cell = string | { readonly value: number | null; readonly digits: number };

/** A table. The first column names the row; a column of numbers is set flush right. */
export interface PageTable {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** A point; null where a line is broken. */
export type Point = readonly [x: number, y: number | null];

/** How values of an axis are written: times in ms, seconds, plain counts, or 1/(1-p) as a percentile. */
export type AxisKind = 'ms' | 's' | 'count' | 'percentile' | 'percent' | 'rate';

/** An axis. */
export interface PageAxis {
  readonly name: string;
  readonly kind: AxisKind;
  readonly isLog?: boolean;
  /** Base of a log axis, 10 where it is not said. */
  readonly logBase?: number;
  readonly min?: number;
  readonly max?: number;
}

/** A line or row of bars. Its place in the list gives its colour, dash and symbol. */
export interface PageSeries {
  readonly name: string;
  readonly points: readonly Point[];
  /** `rings` go around points of another series. */
  readonly shape: 'line' | 'step' | 'bars' | 'area' | 'points' | 'rings';
  /** Colour and symbol, and dash, where it is not the place in the list that gives them: one thing looks the same in all panels. */
  readonly place?: number;
  readonly dash?: number;
  /** Text at each point, in the order of the points. */
  readonly labels?: readonly string[];
}

/** One plot above others on the same x axis. */
export interface PagePanel {
  readonly y: PageAxis;
  readonly series: readonly PageSeries[];
  /** Horizontal lines, such as limits. */
  readonly limits?: readonly { readonly value: number; readonly label: string }[];
}

/** A chart of lines and bars over one x axis. */
export interface XyChart {
  readonly type: 'xy';
  readonly x: PageAxis;
  readonly panels: readonly PagePanel[];
  /** Vertical lines, such as the knee. */
  readonly marks?: readonly { readonly x: number; readonly label: string }[];
  /** Shaded stretches of x, such as the steady window. */
  readonly bands?: readonly { readonly from: number; readonly to: number; readonly label: string }[];
  readonly canZoom?: boolean;
}

/** Bars side by side, by category, the names beside them. */
export interface BarChart {
  readonly type: 'bars';
  readonly categories: readonly string[];
  readonly y: PageAxis;
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
}

/** Dots in rows, with an interval in each row: differences around 0. */
export interface DotChart {
  readonly type: 'dots';
  /** Names of the rows, from above. */
  readonly categories: readonly string[];
  readonly x: PageAxis;
  /** Dots by kind; a row may have any number of them. */
  readonly series: readonly {
    readonly name: string;
    readonly points: readonly (readonly [x: number, category: number])[];
    /** Colour and symbol, where it is not the place in the list that gives them. */
    readonly place?: number;
  }[];
  /** By row. */
  readonly ranges: readonly (readonly [low: number, high: number] | null)[];
  readonly rangeName: string;
  /** Shaded stretch of x, such as a margin within which nothing counts as a difference. */
  readonly band?: { readonly from: number; readonly to: number; readonly label: string };
}

/** A request of the waterfall, seconds after the first was sent: due, sent, first and last token; a failed one has no tokens. */
export type WaterfallRow = readonly [
  index: number,
  due: number,
  sent: number,
  serverQueueEnd: number,
  firstToken: number,
  end: number,
  failed: 0 | 1,
];

/** Requests as rows of bars. */
export interface WaterfallChart {
  readonly type: 'waterfall';
  /**
   * What lies between due and sent. Open loop: the client is `late`. Closed loop: a request waits for a `place`, which says more of the
   * number of requests than of the server: it is drawn when asked for.
   */
  readonly wait: 'late' | 'place';
  readonly rows: readonly WaterfallRow[];
}

/** What the page's script draws. */
export type PageChart = XyChart | BarChart | DotChart | WaterfallChart;

/** A part of the page: words, a chart, a table; each may be missing. */
export interface PageSection {
  /** Of the element, for links. */
  readonly id: string;
  readonly title: string;
  readonly words?: readonly string[];
  /** With what a chart says in words, for those who do not see it. */
  readonly chart?: PageChart;
  readonly chartText?: string;
  readonly table?: PageTable;
  /** Stands beside its neighbours of the same kind where the window is wide enough. */
  readonly isThird?: boolean;
  /** The table is a twin of the chart, and folded. */
  readonly isTableFolded?: boolean;
  /** Text to be copied as it is. */
  readonly code?: string;
}

/** A figure of the head. */
export interface PageFigure {
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  readonly note: string;
}

/** The document. */
export interface PageData {
  readonly title: string;
  /** Model, server, date and the like. */
  readonly facts: readonly string[];
  /** The answer in sentences. */
  readonly answer: readonly string[];
  readonly figures: readonly PageFigure[];
  /** What is to be known before the figures are believed. */
  readonly alerts: readonly string[];
  readonly sections: readonly PageSection[];
}

/** From a chart's data to what ECharts is to draw, and how high it is. */
import type { PageChart } from '../src/report/html-data.ts';
import { barHeight, barOption } from './bars.ts';
import type { Option } from './common.ts';
import { dotHeight, dotOption } from './dots.ts';
import type { Colours } from './theme.ts';
import { WATERFALL_HEIGHT, waterfallOption } from './waterfall.ts';
import { xyHeight, xyOption } from './xy.ts';

/** What a reader has switched on a chart. */
export interface Switches {
  /** Waterfall: show the wait for a place. */
  readonly showsWait: boolean;
}

/** Height of a chart of this width, px. */
export function heightOf(chart: PageChart, width: number): number {
  if (chart.type === 'xy') return xyHeight(chart, width);
  if (chart.type === 'bars') return barHeight(chart, width);
  return chart.type === 'dots' ? dotHeight(chart, width) : WATERFALL_HEIGHT;
}

/** The option of a chart. */
export function optionOf(chart: PageChart, colours: Colours, width: number, switches: Switches): Option {
  return {
    animation: false,
    backgroundColor: 'transparent',
    textStyle: { color: colours.text, fontFamily: 'system-ui, sans-serif' },
    ...ownOption(chart, colours, width, switches),
  };
}

function ownOption(chart: PageChart, colours: Colours, width: number, switches: Switches): Option {
  if (chart.type === 'xy') return xyOption(chart, colours, width);
  if (chart.type === 'bars') return barOption(chart, colours, width);
  return chart.type === 'dots'
    ? dotOption(chart, colours, width)
    : waterfallOption(chart, colours, width, switches.showsWait);
}

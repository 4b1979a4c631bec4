/** Bars side by side, by category. */
import type { BarChart } from '../src/report/html-data.ts';
import { axisOf, legend, legendHeight, type Option, tooltip } from './common.ts';
import type { Colours } from './theme.ts';

const FOOT = 48;

/** Height, px. */
export function barHeight(chart: BarChart, width: number): number {
  return top(chart, width) + (14 + 14 * chart.series.length) * chart.categories.length + FOOT;
}

function top({ series }: BarChart, width: number): number {
  return (
    (series.length > 1
      ? legendHeight(
          series.map(({ name }) => name),
          width,
        )
      : 0) + 8
  );
}

/** The option. */
export function barOption(chart: BarChart, colours: Colours, width: number): Option {
  const isNarrow = width < 520;
  return {
    tooltip: { ...tooltip(colours), axisPointer: { type: 'shadow' } },
    legend: { ...legend(colours), show: chart.series.length > 1, data: chart.series.map(({ name }) => name) },
    grid: { left: 8, right: 24, top: top(chart, width), bottom: FOOT, containLabel: true },
    xAxis: {
      ...axisOf(chart.y, colours),
      ...(isNarrow ? { splitNumber: 3 } : {}),
      name: chart.y.name,
      nameLocation: 'middle',
      nameGap: 28,
    },
    yAxis: {
      type: 'category',
      data: chart.categories,
      inverse: true,
      axisTick: { show: false },
      axisLabel: {
        color: colours.text,
        interval: 0,
        width: isNarrow ? width * 0.4 : 260,
        overflow: 'truncate',
      },
      axisLine: { lineStyle: { color: colours.dim } },
    },
    series: chart.series.map(({ name, values: data }, k) => ({
      name,
      type: 'bar',
      data,
      barMaxWidth: 12,
      itemStyle: {
        color: colours.series[k % colours.series.length],
        borderColor: colours.text,
        borderWidth: k === 0 ? 0 : 1,
        borderType: 'dashed',
      },
    })),
  };
}

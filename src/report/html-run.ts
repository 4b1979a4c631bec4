/** The page of one run: from a finished report to the document that is shown. */
import type { DetailViews, RunSummary, SeriesSummary } from '../aggregate/summary.ts';
import type { RecordEnd, RecordHeader } from '../record/record.ts';
import type { FinishedReport } from './finish.ts';
import { hostLines } from './gpus.ts';
import { commandLine } from './html-command.ts';
import { ascending, logHistogram, percentileCurve, rounded } from './html-curves.ts';
import type { Cell, PageAxis, PageData, PageFigure, PageSection, PageSeries, Point } from './html-data.ts';
import { timelineChart, timelineOf, waterfallRows } from './html-timeline.ts';
import { limitLines } from './limits.ts';
import { perSecond } from './vllm-result.ts';
import { warningText } from './warnings.ts';

/** What the page is made from. */
export interface RunPageInput {
  readonly report: FinishedReport;
  readonly header: RecordHeader;
  readonly end: RecordEnd;
}

/** The document. */
export function runPage(input: RunPageInput): PageData {
  const { report, header } = input;
  const { summary, settings, detail } = report;
  const model = settings.modelId ?? 'unknown model';
  const server = header.server ?? {};
  return {
    title: settings.label === null ? `Load on ${model}` : `${settings.label}: load on ${model}`,
    facts: [
      model,
      ...(typeof server['kind'] === 'string' ? [`server: ${server['kind']}`] : []),
      ...(header.started_at === '' ? [] : [`started ${header.started_at}`]),
      loadWords(report),
    ],
    answer: answerOf(report),
    figures: figuresOf(summary),
    alerts: report.warnings.map(warningText),
    sections: [
      ...limitSections(report),
      latencySection(summary),
      ...(detail === null ? [tooMany()] : distributionSections(detail)),
      ...(detail === null ? [] : timeSections(detail, summary)),
      ...serverSections(summary),
      ...categorySections(summary),
      ...hostSections(input),
      ...errorSections(summary),
      healthSection(input),
      provenance(input),
    ],
  };
}

function loadWords({ settings }: FinishedReport): string {
  const { maxConcurrency, requestRate } = settings;
  const rate = Number.isFinite(requestRate) ? `${requestRate} requests/s` : '';
  const streams = maxConcurrency === null ? '' : `${maxConcurrency} streams`;
  return [streams, rate].filter((word) => word !== '').join(' at ') || 'all requests at once';
}

/** A number as a person reads it. */
export function figure(value: number, digits = 1): string {
  if (!Number.isFinite(value)) return '–';
  const shown = Math.abs(value) >= 1000 ? 0 : digits;
  return value.toLocaleString('en-US', { minimumFractionDigits: shown, maximumFractionDigits: shown });
}

function answerOf({ summary, limits, settings }: FinishedReport): string[] {
  const { completed, failed, metrics, steady } = summary;
  if (completed === 0) return [`None of the ${failed} requests succeeded.`];
  const rate = figure(perSecond(summary.outputTokens, summary));
  const { ttft, tpot } = metrics;
  const words = [
    `${figure(completed, 0)} of ${figure(completed + failed, 0)} requests were answered, with ${rate} output tokens per second.`,
    ttft.count === 0
      ? ''
      : `Half of the users saw the first token within ${figure(ttft.medianMs)} ms, 99 % within ${figure(ttft.percentilesMs.get(99) ?? Number.NaN)} ms; then a token came every ${figure(tpot.medianMs)} ms (median).`,
  ];
  const window = steady?.figures;
  if (window != null && window.lengthS > 0) {
    words.push(`In steady state it was ${figure(window.outputTokens / window.lengthS)} tokens per second.`);
  }
  const missed = limits.filter(({ isKept }) => !isKept).length;
  if (limits.length > 0) {
    words.push(missed === 0 ? 'Every limit was kept.' : `${missed} of ${settings.limits.length} limits were missed.`);
  }
  return words.filter((word) => word !== '');
}

function figuresOf(summary: RunSummary): PageFigure[] {
  const { metrics, completed, failed } = summary;
  const latency = (name: string, series: SeriesSummary): PageFigure => ({
    name,
    value: figure(series.medianMs),
    unit: 'ms',
    note: `p99 ${figure(series.percentilesMs.get(99) ?? Number.NaN)} ms`,
  });
  return [
    { name: 'Output', value: figure(perSecond(summary.outputTokens, summary)), unit: 'tokens/s', note: 'whole run' },
    {
      name: 'Requests',
      value: figure(perSecond(completed, summary), 2),
      unit: '1/s',
      note: `${figure(completed, 0)} answered, ${figure(failed, 0)} failed`,
    },
    ...(metrics.ttft.count === 0 ? [] : [latency('TTFT, median', metrics.ttft)]),
    ...(metrics.tpot.count === 0 ? [] : [latency('TPOT, median', metrics.tpot)]),
    ...(metrics.itl.count === 0 ? [] : [latency('ITL, median', metrics.itl)]),
    ...(metrics.e2el.count === 0 ? [] : [latency('E2EL, median', metrics.e2el)]),
  ];
}

function limitSections({ limits }: FinishedReport): PageSection[] {
  if (limits.length === 0) return [];
  return [{ id: 'limits', title: 'Limits', words: limitLines(limits) }];
}

const LATENCY_COLUMNS = ['', 'count', 'mean', 'median', 'p90', 'p95', 'p99', 'p99.9', 'max'];

function latencyRow(name: string, series: SeriesSummary): Cell[] {
  const ms = (value: number | undefined): Cell => ({ value: value ?? null, digits: 2 });
  const { percentilesMs: p } = series;
  return [
    name,
    { value: series.count, digits: 0 },
    ms(series.meanMs),
    ...[50, 90, 95, 99, 99.9].map((percentile) => ms(p.get(percentile))),
    ms(series.maxMs),
  ];
}

function latencySection({ metrics, ownMetrics }: RunSummary): PageSection {
  const rows: [string, SeriesSummary][] = [
    ['TTFT', metrics.ttft],
    ['TPOT', metrics.tpot],
    ['ITL', metrics.itl],
    ['NTPOT', ownMetrics.ntpot],
    ['E2EL', metrics.e2el],
    ['Client queue', metrics.client_queue_time],
    ['E2EL incl. client queue', metrics.e2el_including_client_queue],
  ];
  return {
    id: 'latencies',
    title: 'Latencies',
    words: ['In milliseconds, over the requests that succeeded. TTFT and E2EL count from the sending of a request.'],
    table: {
      caption: 'Latencies in ms',
      columns: LATENCY_COLUMNS,
      rows: rows.filter(([, { count }]) => count > 0).map(([name, series]) => latencyRow(name, series)),
    },
  };
}

function tooMany(): PageSection {
  return {
    id: 'distributions',
    title: 'Distributions and timeline',
    words: [
      'There were more requests than --max-exact-values: values by request were not kept, so there are no curves.',
    ],
  };
}

/** The values of a run by metric, in ms, ascending. */
function valuesOf(detail: DetailViews): readonly (readonly [name: string, sorted: Float64Array])[] {
  const ttft: number[] = [];
  const tpot: number[] = [];
  let gapCount = 0;
  const n = detail.successes.length;
  for (let i = 0; i < n; i++) {
    if (!detail.successes.at(i)) continue;
    const first = detail.ttfts.at(i) * 1000;
    ttft.push(first);
    const tokens = detail.outputLens.at(i);
    if (tokens > 1) tpot.push((detail.latencies.at(i) * 1000 - first) / (tokens - 1));
    gapCount += detail.itls?.at(i).length ?? 0;
  }
  const itl = new Float64Array(gapCount);
  for (let i = 0, at = 0; i < n && detail.itls !== null; i++) {
    if (!detail.successes.at(i)) continue;
    for (const gap of detail.itls.at(i)) itl[at++] = gap * 1000;
  }
  const all = [
    ['TTFT', ascending(ttft)],
    ['TPOT', ascending(tpot)],
    ['ITL', ascending(itl)],
  ] as const;
  return all.filter(([, sorted]) => sorted.length > 0);
}

function distributionSections(detail: DetailViews): PageSection[] {
  const all = valuesOf(detail);
  if (all.length === 0) return [];
  const curves = all.map(([name, sorted]): PageSeries => ({ name, shape: 'line', points: percentileCurve(sorted) }));
  return [
    {
      id: 'percentiles',
      title: 'Percentile curves',
      words: ['As HdrHistogram plots them: each further nine has the same width. A curve ends at its longest value.'],
      chart: {
        type: 'xy',
        x: { name: 'percentile', kind: 'percentile', isLog: true, min: 1 },
        panels: [{ y: { name: 'ms', kind: 'ms', isLog: true }, series: curves }],
      },
      chartText: all
        .map(([name, sorted]) => `${name} rises from ${figure(sorted[0]!)} to ${figure(sorted.at(-1)!)} ms`)
        .join('; '),
    },
    ...all.map(([name, sorted]): PageSection => {
      const points = logHistogram(sorted).map(([x, y]): Point => [rounded(x), y]);
      return {
        id: `histogram-${name.toLowerCase()}`,
        title: `Histogram of ${name}`,
        chart: {
          type: 'xy',
          x: histogramAxis(name, points),
          panels: [{ y: { name: 'count', kind: 'count', min: 0 }, series: [{ name, shape: 'step', points }] }],
        },
        chartText: `${figure(sorted.length, 0)} values of ${name} from ${figure(sorted[0]!)} to ${figure(sorted.at(-1)!)} ms`,
      };
    }),
  ];
}

/** A log axis where it is of use, else a plain one, from the first to the last bin. */
function histogramAxis(name: string, points: readonly Point[]): PageAxis {
  const [min, max] = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 1];
  return { name: `${name}, ms`, kind: 'ms', isLog: max > 20 * min, min, max };
}

function timeSections(detail: DetailViews, { steady }: RunSummary): PageSection[] {
  const line = timelineOf(detail);
  if (line === null) return [];
  const rows = waterfallRows(detail);
  const n = detail.startTimes.length;
  const windows = steady?.figures?.windows ?? [];
  const most = Math.max(...line.inFlight);
  return [
    {
      id: 'timeline',
      title: 'Timeline',
      words: [
        `Slices of ${figure(line.sliceS * 1000)} ms.${windows.length > 0 ? ' The steady-state window is shaded.' : ''}`,
      ],
      chart: timelineChart(line, windows),
      chartText: `at most ${figure(most, 0)} requests in flight and ${figure(Math.max(...line.tokensPerS))} tokens per second in a slice; ${figure(
        line.errors.reduce((sum, value) => sum + value, 0),
        0,
      )} failed`,
    },
    {
      id: 'waterfall',
      title: 'Requests',
      words: [
        rows.length < n
          ? `${figure(rows.length, 0)} of ${figure(n, 0)} requests: the slowest of each kind, and others at equal distances.`
          : `All ${figure(n, 0)} requests in order of sending.`,
        'Waiting at the client and in the server’s queue (where it tells), then the prompt, then the answer.',
      ],
      chart: { type: 'waterfall', rows },
      chartText: `${rows.length} requests as bars over time, each from its sending to its last token`,
    },
  ];
}

function serverSections({ own, metrics }: RunSummary): PageSection[] {
  const rows: [string, SeriesSummary][] = [
    ['server: queue', own.server_queue_time],
    ['server: prompt', own.server_prompt_time],
    ['server: generation', own.server_completion_time],
    ['server: total', own.server_total_time],
    ['client: TTFT', metrics.ttft],
    ['client: E2EL', metrics.e2el],
  ];
  if (!rows.slice(0, 4).some(([, { count }]) => count > 0)) return [];
  const told = rows.filter(([, { count }]) => count > 0);
  return [
    {
      id: 'server',
      title: 'As the server saw it',
      words: ['Times from the server’s usage (rounded by it to 10 ms) beside those of the client.'],
      chart: {
        type: 'bars',
        isHorizontal: true,
        categories: told.map(([name]) => name),
        y: { name: 'ms', kind: 'ms', min: 0 },
        series: [
          { name: 'median', values: told.map(([, { medianMs }]) => rounded(medianMs)) },
          { name: 'p99', values: told.map(([, { percentilesMs }]) => rounded(percentilesMs.get(99) ?? 0)) },
        ],
      },
      chartText: told.map(([name, { medianMs }]) => `${name} ${figure(medianMs)} ms`).join(', '),
      table: {
        caption: 'Server and client times in ms',
        columns: LATENCY_COLUMNS,
        rows: told.map(([name, series]) => latencyRow(name, series)),
      },
      isTableFolded: true,
    },
  ];
}

function categorySections(summary: RunSummary): PageSection[] {
  const { categories } = summary;
  if (categories.length === 0) return [];
  return [
    {
      id: 'categories',
      title: 'Categories',
      chart: {
        type: 'bars',
        isHorizontal: true,
        categories: categories.map(({ category }) => category),
        y: { name: 'ms', kind: 'ms', min: 0 },
        series: [
          { name: 'TTFT, mean', values: categories.map(({ meanTtftMs }) => rounded(meanTtftMs)) },
          { name: 'TPOT, mean', values: categories.map(({ meanTpotMs }) => rounded(meanTpotMs)) },
        ],
      },
      chartText: categories.map((c) => `${c.category}: TTFT ${figure(c.meanTtftMs)} ms`).join(', '),
      table: {
        caption: 'By category of the data set',
        columns: ['', 'answered', 'failed', 'output tokens', 'tokens/s', 'TTFT, ms', 'TPOT, ms', 'E2EL, ms'],
        rows: categories.map((c) => [
          c.category,
          { value: c.completed, digits: 0 },
          { value: c.failed, digits: 0 },
          { value: c.outputTokens, digits: 0 },
          { value: perSecond(c.outputTokens, summary), digits: 1 },
          ...[c.meanTtftMs, c.meanTpotMs, c.meanE2elMs].map((value) => ({ value, digits: 2 })),
        ]),
      },
    },
  ];
}

function hostSections({ end, report }: RunPageInput): PageSection[] {
  const words = hostLines(end['gpus'], report.summary.outputTokens);
  return words.length === 0 ? [] : [{ id: 'host', title: 'GPUs of the host', words }];
}

function errorSections({ errorKinds, failed, completed }: RunSummary): PageSection[] {
  if (failed === 0) return [];
  return [
    {
      id: 'errors',
      title: 'Failures',
      words: [
        `${figure(failed, 0)} of ${figure(failed + completed, 0)} requests failed. None of them enters a latency.`,
      ],
      table: {
        caption: 'Failures by kind, each with one sample of the server’s own words',
        columns: ['', 'count', 'sample'],
        rows: errorKinds.map(({ kind, count, sample }) => [kind, { value: count, digits: 0 }, sample]),
      },
    },
  ];
}

function healthSection({ report, end }: RunPageInput): PageSection {
  const own = report.result.get('tabby_load') as Readonly<Record<string, unknown>> | undefined;
  const wasLimit = own?.['client_was_limit'];
  const health = end['client_health'] as { readonly workers?: unknown } | undefined;
  const workers = Array.isArray(health?.workers) ? (health.workers as Readonly<Record<string, unknown>>[]) : [];
  const keys = Object.keys(workers[0] ?? {}).filter((key) => typeof workers[0]?.[key] === 'number');
  return {
    id: 'client',
    title: 'The client itself',
    words: [
      wasLimit === undefined
        ? 'Nothing is known of the client’s health.'
        : wasLimit === true
          ? 'The client was the limit: the figures are those of this machine, not of the server.'
          : 'The client was not the limit.',
    ],
    ...(workers.length === 0
      ? {}
      : {
          table: {
            caption: 'Worker threads',
            columns: keys,
            rows: workers.map((worker) =>
              keys.map(
                (key, k): Cell =>
                  k === 0
                    ? String(worker[key])
                    : { value: typeof worker[key] === 'number' ? worker[key] : null, digits: 2 },
              ),
            ),
          },
          isTableFolded: true,
        }),
  };
}

function provenance({ header }: RunPageInput): PageSection {
  return {
    id: 'command',
    title: 'How it was measured',
    words: [
      ...(header.samples_sha256 === undefined ? [] : [`Samples: sha256 ${header.samples_sha256}`]),
      ...(typeof header['version'] === 'string' ? [`tabby-load ${header['version']}`] : []),
      'The command, with every option that is not the default; secrets are left out.',
    ],
    code: commandLine('run', header.options),
  };
}

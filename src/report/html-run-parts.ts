/** The parts of a run's page below its head, one function each; those that have nothing to tell are left out. */
import type { DetailViews, RunSummary, SeriesSummary } from '../aggregate/summary.ts';
import type { FinishedReport } from './finish.ts';
import { gpusOf } from './gpus.ts';
import { rebuiltLine, typedLine } from './html-command.ts';
import { rounded } from './html-curves.ts';
import type { Cell, PageSection } from './html-data.ts';
import { figure } from './html-figure.ts';
import { gpuSections } from './html-gpus.ts';
import type { RunPageInput } from './html-run.ts';
import { firstStart, slowestTable, timelineChart, timelineOf, timelineTable, waterfallRows } from './html-timeline.ts';
import { limitLines } from './limits.ts';
import { perSecond } from './vllm-result.ts';

/** What came of `--slo`. */
export function limitSections({ limits }: FinishedReport): PageSection[] {
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

/** The table of latencies. */
export function latencySection({ metrics, ownMetrics }: RunSummary): PageSection {
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

/** What happened when: the timeline, and the requests one by one. */
export function timeSections(detail: DetailViews, { steady }: RunSummary, isOpenLoop: boolean): PageSection[] {
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
      table: timelineTable(line),
      isTableFolded: true,
    },
    {
      id: 'waterfall',
      title: 'Requests',
      words: [
        rows.length < n
          ? `${figure(rows.length, 0)} of ${figure(n, 0)} requests: the slowest of each kind, and others at equal distances.`
          : `All ${figure(n, 0)} requests in order of sending.`,
        isOpenLoop
          ? 'Sent late by the client, in the server’s queue (where it tells), then the prompt, then the answer.'
          : 'In the server’s queue (where it tells), then the prompt, then the answer. The wait for a free place at the client is left out until it is asked for.',
      ],
      chart: { type: 'waterfall', rows, wait: isOpenLoop ? 'late' : 'place' },
      chartText: `${rows.length} requests as bars over time, each from its sending to its last token`,
      table: slowestTable(rows),
      isTableFolded: true,
    },
  ];
}

/** Times as the server tells them, beside those of the client. */
export function serverSections({ own, metrics }: RunSummary): PageSection[] {
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

/** Figures by category of the data set (Spec-Bench). */
export function categorySections(summary: RunSummary): PageSection[] {
  const { categories } = summary;
  if (categories.length === 0) return [];
  return [
    {
      id: 'categories',
      title: 'Categories',
      chart: {
        type: 'bars',
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

/** GPUs of the host, over the time that the timeline shows. */
export function hostSections({ end, report }: RunPageInput): PageSection[] {
  if (gpusOf(end['gpus']).length === 0) return [];
  const line = report.detail === null ? null : timelineOf(report.detail);
  const span =
    report.detail === null || line === null
      ? null
      : { firstStart: firstStart(report.detail), lengthS: line.sliceS * line.inFlight.length };
  return gpuSections(end['gpus'], report.summary.outputTokens, span);
}

/** Failures by kind, with samples. */
export function errorSections({ errorKinds, failed, completed }: RunSummary): PageSection[] {
  if (failed === 0) return [];
  const rows = errorKinds.flatMap(({ kind, count, sample, statuses }): Cell[][] =>
    statuses.size < 2
      ? [[kind + [...statuses.keys()].map((status) => ` ${status}`).join(''), { value: count, digits: 0 }, sample]]
      : [...statuses].map(([status, one]) => [`${kind} ${status}`, { value: one.count, digits: 0 }, one.sample]),
  );
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
        rows,
      },
    },
  ];
}

/** Was the client the limit? */
export function healthSection({ report, end }: RunPageInput): PageSection {
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

/** The command, the samples, the version. */
export function provenance({ header, typed, isFromRecords }: RunPageInput): PageSection {
  const page = typedLine(typed);
  const command = isFromRecords ? rebuiltLine('run', header.options) : page;
  return {
    id: 'command',
    title: 'How it was measured',
    words: [
      ...(header.samples_sha256 === undefined ? [] : [`Samples: sha256 ${header.samples_sha256}`]),
      ...(typeof header['version'] === 'string' ? [`tabby-load ${header['version']}`] : []),
      command.words,
      ...(isFromRecords ? [`This page was made from records by: ${page.line.replaceAll(' \\\n  ', ' ')}`] : []),
    ],
    code: command.line,
  };
}

/** The page of one run: from a finished report to the document that is shown. */
import type { Repeated } from '../aggregate/repeats.ts';
import type { RunSummary, SeriesSummary } from '../aggregate/summary.ts';
import type { RecordEnd, RecordHeader } from '../record/record.ts';
import type { FinishedReport } from './finish.ts';
import type { PageData, PageFigure, PageSection } from './html-data.ts';
import { distributionSections, type ReadBuckets } from './html-distributions.ts';
import { figure } from './html-figure.ts';
import { repeatSections } from './html-repeats.ts';
import {
  categorySections,
  errorSections,
  healthSection,
  hostSections,
  latencySection,
  limitSections,
  provenance,
  serverSections,
  timeSections,
} from './html-run-parts.ts';
import { perSecond } from './vllm-result.ts';
import { warningText } from './warnings.ts';

/** What the page is made from. */
export interface RunPageInput {
  readonly report: FinishedReport;
  readonly header: RecordHeader;
  readonly end: RecordEnd;
  /** Stands in for values that were not kept. */
  readonly buckets: ReadBuckets;
  /** The words of the command that ran the load, or that made the page from `records`; without secrets. */
  readonly typed: readonly string[];
  readonly isFromRecords: boolean;
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
      ...errorSections(summary),
      latencySection(summary),
      ...repeatSections(repeatsOf(report)),
      ...distributionSections(detail, input.buckets),
      ...(detail === null ? [noTimeline()] : timeSections(detail, summary, settings.isOpenLoop)),
      ...hostSections(input),
      ...serverSections(summary),
      ...categorySections(summary),
      healthSection(input),
      provenance(input),
    ],
  };
}

function repeatsOf({ result }: FinishedReport): readonly Repeated[] {
  const own = result.get('tabby_load') as { readonly repeats?: readonly Repeated[] } | undefined;
  return own?.repeats ?? [];
}

function noTimeline(): PageSection {
  return {
    id: 'timeline',
    title: 'Timeline',
    words: ['There were more requests than --max-exact-values: what happened when was not kept for a picture.'],
  };
}

function loadWords({ settings }: FinishedReport): string {
  const { maxConcurrency, requestRate } = settings;
  const rate = Number.isFinite(requestRate) ? `${requestRate} requests/s` : '';
  const streams = maxConcurrency === null ? '' : `${maxConcurrency} streams`;
  return [streams, rate].filter((word) => word !== '').join(' at ') || 'all requests at once';
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
      unit: 'requests/s',
      note: `${figure(completed, 0)} answered, ${figure(failed, 0)} failed`,
    },
    ...(metrics.ttft.count === 0 ? [] : [latency('TTFT, median', metrics.ttft)]),
    ...(metrics.tpot.count === 0 ? [] : [latency('TPOT, median', metrics.tpot)]),
    ...(metrics.itl.count === 0 ? [] : [latency('ITL, median', metrics.itl)]),
    ...(metrics.e2el.count === 0 ? [] : [latency('E2EL, median', metrics.e2el)]),
  ];
}

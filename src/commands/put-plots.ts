/** Writes the plots that were asked for beside the result file, under its name. */
import type { FinishedReport } from '../report/finish.ts';
import { datasetPage } from '../report/plot-dataset.ts';
import { timelinePage } from '../report/plot-timeline.ts';
import { beside, writeWhole } from '../report/result-file.ts';
import { printErr } from '../report/terminal.ts';

/** Options of the plots. */
export interface PlotOptions {
  readonly plotTimeline: boolean;
  /** Two limits in ms. */
  readonly timelineItlThresholds: readonly number[];
  readonly plotDatasetStats: boolean;
}

/** Where vLLM writes `.dataset_stats.png`: a page needs no plotting library. */
const SUFFIX = { timeline: '.timeline.html', dataset: '.dataset_stats.html' } as const;

/** The files that will be written, each with the option that asks for it, for a result of this path. */
export function plotPaths(options: PlotOptions, resultPath: string): [path: string, option: string][] {
  const paths: [string, string][] = [];
  if (options.plotTimeline) paths.push([beside(resultPath, SUFFIX.timeline), '--plot-timeline']);
  if (options.plotDatasetStats) paths.push([beside(resultPath, SUFFIX.dataset), '--plot-dataset-stats']);
  return paths;
}

/**
 * Writes them.
 * @throws a usage error when a file cannot be written
 */
export async function putPlots(report: FinishedReport, options: PlotOptions, resultPath: string): Promise<void> {
  const { detail, settings, date } = report;
  const paths = plotPaths(options, resultPath);
  if (paths.length > 0 && detail === null) {
    printErr('tabby-load: warning: no plots: there were more requests than --max-exact-values');
    return;
  }
  if (detail === null) return;
  const head = { model: settings.modelId, label: settings.label, date };
  const [good, bad] = options.timelineItlThresholds as [number, number];
  for (const [path, option] of paths) {
    const html = option === '--plot-timeline' ? timelinePage(detail, [good, bad], head) : datasetPage(detail, head);
    await writeWhole(path, [html], option);
    printErr(`tabby-load: ${option.slice(2)}: ${path}`);
  }
}

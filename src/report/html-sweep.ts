/** The page of a sweep: from `sweep.json` to the document that is shown. */
import { parseLimit } from '../limits.ts';
import type { SweepAxis, SweepDocument, SweepLatency, SweepLevel } from '../record/sweep.ts';
import { rebuiltLine, typedLine } from './html-command.ts';
import { rounded } from './html-curves.ts';
import type { Cell, PageAxis, PageData, PageFigure, PagePanel, PageSection, PageSeries, Point } from './html-data.ts';
import { figure } from './html-figure.ts';

type LatencyName = 'ttft' | 'tpot' | 'itl' | 'e2el';

/**
 * The document.
 * @param typed words of the command that ran the sweep, without secrets; null where only its document is known
 */
export function sweepPage(sweep: SweepDocument, typed: readonly string[] | null = null): PageData {
  const command = typed === null ? rebuiltLine('sweep', sweep.options) : typedLine(typed);
  const { answer, server } = sweep;
  const model = typeof server['model'] === 'string' ? server['model'] : 'unknown model';
  const levels = [...sweep.levels].sort((a, b) => a.level - b.level);
  const measured = levels.filter(({ status }) => status === 'done');
  return {
    title: `Sweep of ${model}`,
    facts: [
      model,
      ...(typeof server['kind'] === 'string' ? [`server: ${server['kind']}`] : []),
      `started ${sweep.started_at}`,
      `${levels.length} ${levels.length === 1 ? 'level' : 'levels'} of ${unitOf(sweep.axis)}`,
    ],
    answer: answer.words,
    figures: figuresOf(sweep, measured),
    alerts: alertsOf(sweep, levels),
    sections: [
      ...(measured.length === 0 ? [] : chartSections(sweep, measured)),
      levelSection(sweep, levels),
      ...limitSections(levels),
      {
        id: 'command',
        title: 'How it was measured',
        words: [`Samples: sha256 ${sweep.samples_sha256}`, `tabby-load ${sweep.version}`, command.words],
        code: command.line,
      },
    ],
  };
}

/** Unit of a level. */
export function unitOf(axis: SweepAxis): string {
  return axis === 'concurrency' ? 'streams' : 'requests/s';
}

function figuresOf(sweep: SweepDocument, levels: readonly SweepLevel[]): PageFigure[] {
  const { answer } = sweep;
  const knee = levels.find(({ level }) => level === answer.knee);
  if (knee === undefined) return [];
  const latency = (name: string, of: SweepLatency | null): PageFigure[] =>
    of === null
      ? []
      : [
          {
            name: `${name} at the knee, median`,
            value: figure(of.median_ms),
            unit: 'ms',
            note: `p99 ${figure(of.p99_ms)} ms`,
          },
        ];
  return [
    {
      name: answer.is_saturated ? 'Knee' : 'Best so far',
      value: figure(knee.level, Number.isInteger(knee.level) ? 0 : 2),
      unit: unitOf(sweep.axis),
      note: answer.bound === null ? 'not saturated' : `bound by ${answer.bound.replaceAll('_', ' ')}`,
    },
    {
      name: 'Output there',
      value: figure(knee.output_throughput),
      unit: 'tokens/s',
      note: knee.throughput_from.replace('_', ' '),
    },
    ...latency('TTFT', knee.ttft),
    ...latency('TPOT', knee.tpot),
    ...(answer.limits === null
      ? []
      : [
          {
            name: 'Every limit kept up to',
            value: answer.limits.highest_kept === null ? 'none' : figure(answer.limits.highest_kept, 0),
            unit: answer.limits.highest_kept === null ? '' : unitOf(sweep.axis),
            note:
              answer.limits.lowest_missed === null ? 'missed at no level' : `missed at ${answer.limits.lowest_missed}`,
          },
        ]),
  ];
}

function alertsOf(sweep: SweepDocument, levels: readonly SweepLevel[]): string[] {
  const names = (wanted: (level: SweepLevel) => boolean): string =>
    levels
      .filter(wanted)
      .map(({ level }) => level)
      .join(', ');
  const client = names(({ client_was_limit: was }) => was === true);
  return [
    ...(sweep.complete ? [] : ['The sweep has not come to its end: levels are missing.']),
    ...levels
      .filter(({ status }) => status !== 'done')
      .map(
        ({ level, status, reason }) =>
          `Level ${level} ${status === 'partial' ? 'was broken off' : 'failed'}: ${reason}`,
      ),
    ...(client === ''
      ? []
      : [`The client was the limit at ${client}: figures there are not those of the server alone.`]),
  ];
}

function line(
  name: string,
  levels: readonly SweepLevel[],
  read: (level: SweepLevel) => number | null | undefined,
): PageSeries {
  const points = levels.map((level): Point => {
    const value = read(level);
    return [level.level, value == null ? null : rounded(value)];
  });
  return { name, shape: 'line', points };
}

/** Limits on one latency, as horizontal lines. */
function limitsOn(metric: LatencyName, levels: readonly SweepLevel[]): PagePanel['limits'] {
  const found = new Map<string, number>();
  for (const { limits } of levels)
    for (const { limit, bound } of limits) if (parseLimit(limit).metric === metric) found.set(limit, bound);
  return [...found].map(([label, value]) => ({ value, label }));
}

function latencyPanel(name: string, metric: LatencyName, levels: readonly SweepLevel[]): PagePanel {
  return {
    y: { name: `${name}, ms`, kind: 'ms', min: 0 },
    series: [
      line(`${name} median`, levels, (level) => level[metric]?.median_ms),
      line(`${name} p99`, levels, (level) => level[metric]?.p99_ms),
    ],
    limits: limitsOn(metric, levels) ?? [],
  };
}

/** Levels are doubled more often than not: each doubling has the same width. */
export function loadAxis(name: string, levels: readonly SweepLevel[]): PageAxis {
  const all = levels.map(({ level }) => level);
  const [min, max] = [Math.min(...all), Math.max(...all)];
  // A single level stands in the middle.
  const room = min === max ? 2 : 1;
  return { name, kind: 'rate', isLog: true, logBase: 2, min: min / room, max: max * room };
}

/** The knee, and how far the limits hold. */
function marksOf({ answer }: SweepDocument): { x: number; label: string }[] {
  const { knee, limits } = answer;
  const kept = limits?.highest_kept ?? null;
  const kneeWords = answer.is_saturated ? `knee: ${knee}` : `best so far: ${knee}`;
  if (kept !== null && kept === knee) return [{ x: knee, label: `${kneeWords}, limits kept` }];
  return [
    ...(knee === null ? [] : [{ x: knee, label: kneeWords }]),
    ...(kept === null ? [] : [{ x: kept, label: `limits kept up to ${kept}` }]),
  ];
}

/** Throughput, with rings where the client was the limit. */
function throughputPanel(levels: readonly SweepLevel[]): PagePanel {
  const bounded = levels.filter(({ client_was_limit: was }) => was === true);
  return {
    y: { name: 'tokens/s', kind: 'rate', min: 0 },
    series: [
      line('output tokens/s', levels, ({ output_throughput: rate }) => rate),
      ...(bounded.length === 0
        ? []
        : [
            {
              ...line('client was the limit', bounded, ({ output_throughput: rate }) => rate),
              shape: 'rings' as const,
              place: 1,
            },
          ]),
    ],
  };
}

/** What the server's usage tells of its queue; nothing where it tells none. */
function queuePanels(levels: readonly SweepLevel[]): PagePanel[] {
  if (levels.every(({ server_queue: queue }) => queue === null)) return [];
  return [
    {
      y: { name: 'server queue, ms', kind: 'ms', min: 0 },
      series: [
        line('server queue mean', levels, ({ server_queue: queue }) => queue?.mean_ms),
        line('server queue p99', levels, ({ server_queue: queue }) => queue?.p99_ms),
      ],
      limits: [],
    },
  ];
}

function chartSections(sweep: SweepDocument, levels: readonly SweepLevel[]): PageSection[] {
  const unit = unitOf(sweep.axis);
  const said = levels.map(({ level, output_throughput: rate }) => `${level}: ${figure(rate)}`).join(', ');
  const pareto = levels.filter(({ e2el }) => e2el !== null);
  return [
    {
      id: 'saturation',
      title: 'Throughput and latency by load',
      words: [
        'Vertical lines mark the knee and how far the limits were kept; horizontal ones are the limits themselves.',
      ],
      chart: {
        type: 'xy',
        x: loadAxis(unit, levels),
        marks: marksOf(sweep),
        panels: [
          throughputPanel(levels),
          latencyPanel('TTFT', 'ttft', levels),
          latencyPanel('TPOT', 'tpot', levels),
          ...queuePanels(levels),
        ],
      },
      chartText: `output tokens per second by ${unit}: ${said}`,
    },
    {
      id: 'pareto',
      title: 'Latency against throughput',
      words: ['Each point is a level: right is better, down is better. Past the knee a point only rises.'],
      chart: {
        type: 'xy',
        x: { name: 'output tokens/s', kind: 'rate' },
        panels: [
          {
            y: { name: 'E2EL median, ms', kind: 'ms', min: 0 },
            series: [
              {
                name: `level (${unit})`,
                shape: 'line',
                points: pareto.map(
                  ({ output_throughput: rate, e2el }): Point => [rounded(rate), rounded(e2el?.median_ms ?? 0)],
                ),
                labels: pareto.map(({ level }) => String(level)),
              },
            ],
          },
        ],
      },
      chartText: pareto
        .map(
          ({ level, output_throughput: rate, e2el }) =>
            `${level}: ${figure(rate)} tokens/s at ${figure(e2el?.median_ms ?? 0)} ms`,
        )
        .join('; '),
    },
  ];
}

function levelSection(sweep: SweepDocument, levels: readonly SweepLevel[]): PageSection {
  const ms = (value: number | undefined): Cell => ({ value: value ?? null, digits: 1 });
  return {
    id: 'levels',
    title: 'All levels',
    table: {
      caption: 'Latencies in ms',
      columns: [
        unitOf(sweep.axis),
        'status',
        'requests',
        'failed',
        'tokens/s',
        'TTFT median',
        'TTFT p99',
        'TPOT median',
        'TPOT p99',
        'E2EL median',
        'E2EL p99',
        'server queue',
        'client was limit',
      ],
      rows: levels.map((level) => [
        String(level.level),
        level.status,
        { value: level.requests, digits: 0 },
        { value: level.failed, digits: 0 },
        { value: level.output_throughput, digits: 1 },
        ...[level.ttft?.median_ms, level.ttft?.p99_ms, level.tpot?.median_ms, level.tpot?.p99_ms].map(ms),
        ...[level.e2el?.median_ms, level.e2el?.p99_ms, level.server_queue?.mean_ms].map(ms),
        level.client_was_limit === null ? 'not known' : level.client_was_limit ? 'yes' : 'no',
      ]),
    },
  };
}

function limitSections(levels: readonly SweepLevel[]): PageSection[] {
  const rows = levels.flatMap(({ level, limits }) =>
    limits.map(({ limit, value, kept }): Cell[] => [
      String(level),
      limit,
      { value, digits: 2 },
      kept ? 'kept' : 'MISSED',
    ]),
  );
  if (rows.length === 0) return [];
  return [
    {
      id: 'limits',
      title: 'Limits',
      table: { caption: 'Limits by level', columns: ['level', 'limit', 'value', ''], rows },
    },
  ];
}

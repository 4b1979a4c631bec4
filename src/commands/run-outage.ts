/** `--reconnect-wait` in words, and in questions to the server. */
import { EXIT } from '../errors.ts';
import type { RunOptions } from '../options/table.ts';
import { printable, printErr } from '../report/terminal.ts';
import type { Outage, OutagePlan } from '../transport/outage.ts';
import { askPresence, type ServerFound } from '../transport/server.ts';
import type { RunEnding } from './run-ending.ts';
import { plainHeaders, routeOf } from './run-target.ts';

/** A question must be answered within this, ms: a server that is up answers it in a few. */
const ASK_MS = 3000;

/** The plan, or null when the option is off. `ending` is asked for when the run has begun. */
export function outagePlan(options: RunOptions, server: ServerFound, ending: () => RunEnding): OutagePlan | null {
  const waitMs = options.reconnectWaitMs;
  if (waitMs === null) return null;
  const { baseUrl } = options;
  const find = {
    baseUrl,
    headers: plainHeaders(options),
    kind: server.kind,
    readyMs: ASK_MS,
    route: routeOf(options),
  };
  const patience = Number.isFinite(waitMs) ? `up to ${seconds(waitMs)}` : 'as long as it takes';
  return {
    waitMs,
    ask: () => askPresence(find),
    onGone(reason) {
      printErr(`tabby-load: the server went away: ${printable(reason)}; waiting ${patience} for it (--reconnect-wait)`);
    },
    onBack(outage) {
      const failed = outage.failed === 1 ? '1 request failed' : `${outage.failed} requests failed`;
      printErr(
        `tabby-load: the server is back after ${seconds(outage.lastedMs)}${otherModel(outage, server)}; ${failed} meanwhile; going on`,
      );
    },
    onGivenUp(outage) {
      const words = `the server did not come back within ${seconds(outage.lastedMs)}: no more requests`;
      ending().endEarly('the server went away', EXIT.unreachable, words);
    },
  };
}

function otherModel({ model }: Outage, server: ServerFound): string {
  if (model === null || server.model === null || model === server.model) return '';
  return printable(`, with another model (${model} in place of ${server.model})`);
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(1))} s`;
}

/** Outages for the end of a record file. */
export function outageBlocks(outages: readonly Outage[]): readonly Readonly<Record<string, unknown>>[] {
  return outages.map(({ atMs, lastedMs, reason, failed, model, isOver }) => ({
    at_s: atMs / 1000,
    lasted_s: lastedMs / 1000,
    reason,
    failed,
    came_back: isOver,
    ...(model === null ? {} : { model }),
  }));
}

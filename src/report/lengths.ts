/** Output lengths: what was made against what was asked for, and the plain reason where there is one. */
import type { RunSummary } from '../aggregate/summary.ts';
import type { Warning } from './warnings.ts';

/** Why lengths differ. */
export interface LengthFindings {
  /** Remarks in order of importance; empty when all lengths are as asked for. */
  readonly remarks: readonly Warning[];
}

/** Facts about the run that explain lengths. */
export interface LengthContext {
  readonly isTabby: boolean;
  readonly exactLength: boolean;
  /** `min_tokens` was sent. */
  readonly forced: boolean;
}

/** Share of the short ones that one reason must explain to be named. */
const MOST = 0.9;

/** Finds the reasons. TabbyAPI makes N − 1 tokens (fewer with a draft model) for max_tokens = N and says "length". */
export function lengthFindings({ lengths }: RunSummary, context: LengthContext): LengthFindings {
  const remarks: Warning[] = [];
  const of = lengths.requests;
  let cut = 0;
  let usual = 0;
  let missing = 0;
  for (const [tokens, requests] of lengths.missingAtLengthEnd) {
    cut += requests;
    if (requests > usual) [usual, missing] = [requests, tokens];
  }
  if (cut > 0) {
    const isRule = context.isTabby && !context.exactLength && usual >= MOST * cut;
    remarks.push({
      code: isRule ? 'length_tabby' : 'length_cut',
      facts: {
        requests: isRule ? usual : cut,
        of,
        missing: isRule || lengths.missingAtLengthEnd.size === 1 ? missing : range(lengths.missingAtLengthEnd),
      },
    });
  }
  if (lengths.shortByOwnEnd > 0) {
    remarks.push({ code: 'length_own_end', facts: { requests: lengths.shortByOwnEnd, of, forced: context.forced } });
  }
  if (lengths.long > 0) remarks.push({ code: 'length_long', facts: { requests: lengths.long, of } });
  return { remarks };
}

function range(missing: ReadonlyMap<number, number>): string {
  const tokens = [...missing.keys()];
  return `${Math.min(...tokens)} to ${Math.max(...tokens)}`;
}

/** What a generation says: the text of each token, and where it goes. */
import { Rng } from './rng.ts';
import { tokenId } from './tokenizer.ts';
import { RAW_TOKENS, UNICODE_TOKENS, WORDS } from './words.ts';

/** Where a token's text goes: `hidden` ones (tags, tool calls being written) are counted but not sent. */
export type Channel = 'content' | 'reasoning' | 'hidden';

/** One token. */
export interface Said {
  readonly text: string;
  readonly channel: Channel;
}

/** What decides a voice. */
export interface VoicePlan {
  /** Tokens of reasoning at the start; 0: none. */
  readonly reasoningTokens: number;
  readonly reasoningParsed: boolean;
  readonly source: 'words' | 'unicode' | 'raw';
  /** Tool calls at the end, after three tokens of content. */
  readonly toolCalls: number;
}

/** Tokens of one tool call while it is written. */
export const TOOL_CALL_TOKENS = 49;
/** Tokens of content before tool calls. */
export const TOOL_LEAD_TOKENS = 3;

/** The tokens of one choice, one after the other. */
export class Voice {
  /** Every token is one plain word of content: the fast way applies. */
  readonly plain: boolean;
  /** It has thought, so that white space after the thought is held back. */
  readonly hasReasoning: boolean;
  private readonly plan: VoicePlan;
  private readonly rng: Rng;
  private readonly script: readonly Said[] | null;
  private at = 0;

  constructor(plan: VoicePlan, rng: Rng, script: readonly Said[] | null = null) {
    this.plan = plan;
    this.rng = rng;
    this.script = script;
    this.hasReasoning = plan.reasoningTokens > 0 && plan.reasoningParsed;
    this.plain = script === null && plan.reasoningTokens === 0 && plan.source === 'words' && plan.toolCalls === 0;
  }

  /** A voice that says exactly this. */
  static of(script: readonly Said[]): Voice {
    const plan: VoicePlan = { reasoningTokens: 0, reasoningParsed: true, source: 'words', toolCalls: 0 };
    return new Voice(plan, new Rng(0), script);
  }

  /** Index of the next word, for a plain voice. */
  nextWord(): number {
    this.at++;
    return this.rng.below(WORDS.length);
  }

  /** The next token. */
  next(): Said {
    const at = this.at++;
    const { plan, script } = this;
    if (script !== null) return script[at] ?? { text: '', channel: 'hidden' };
    if (plan.toolCalls > 0) return at < TOOL_LEAD_TOKENS ? this.content(at) : { text: '', channel: 'hidden' };
    if (plan.reasoningTokens === 0) return this.content(at);
    return plan.reasoningParsed ? this.thinking(at) : this.thinkingAloud(at);
  }

  private content(at: number): Said {
    return { text: this.word(at), channel: 'content' };
  }

  private word(at: number): string {
    const { source } = this.plan;
    if (source === 'unicode') return UNICODE_TOKENS[at % UNICODE_TOKENS.length] as string;
    if (source === 'raw') return RAW_TOKENS[at % RAW_TOKENS.length] as string;
    return WORDS[this.rng.below(WORDS.length)] as string;
  }

  /** Reasoning from the first token (the template ends in `<think>`), the closing tag, a blank line, content. */
  private thinking(at: number): Said {
    const after = at - this.plan.reasoningTokens;
    if (after < 0) return { text: this.word(at), channel: 'reasoning' };
    if (after === 0) return { text: '</think>', channel: 'hidden' };
    return after <= 2 ? { text: '\n', channel: 'content' } : this.content(at);
  }

  /** The same from a server that does not parse it: tags and all are content. */
  private thinkingAloud(at: number): Said {
    const after = at - this.plan.reasoningTokens - 2;
    if (at === 0) return { text: '<think>', channel: 'content' };
    if (at === 1 || after === 1 || after === 2) return { text: '\n', channel: 'content' };
    return after === 0 ? { text: '</think>', channel: 'content' } : this.content(at);
  }
}

/** Log probability told for every token. */
const LOGPROB = -Math.LN2;

interface TopLogprob {
  readonly token: string;
  readonly logprob: number;
}

function alternatives(token: string, top: number): readonly TopLogprob[] {
  const words = [token, ...WORDS.filter((word) => word !== token)];
  return words.slice(0, top).map((word, i) => ({ token: word, logprob: LOGPROB - i }));
}

/** `choices[].logprobs` of a chat: one entry per token. */
export function chatLogprobs(tokens: readonly string[], top: number) {
  const content = tokens.map((token) => ({
    token,
    token_id: tokenId(token),
    logprob: LOGPROB,
    top_logprobs: alternatives(token, top).map((entry) => ({ ...entry, token_id: tokenId(entry.token) })),
  }));
  return { content };
}

/** `choices[].logprobs` of a completion: parallel lists; offsets count from the start of these tokens. */
export function completionLogprobs(tokens: readonly string[], top: number) {
  let offset = 0;
  const offsets = tokens.map((token) => {
    const at = offset;
    offset += token.length;
    return at;
  });
  return {
    tokens,
    token_logprobs: tokens.map(() => LOGPROB),
    top_logprobs: tokens.map((token) =>
      top <= 1 ? null : Object.fromEntries(alternatives(token, top).map((entry) => [entry.token, entry.logprob])),
    ),
    text_offset: offsets,
  };
}

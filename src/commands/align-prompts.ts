/**
 * vLLM's check of generated prompts against the server's own tokenizer (`/tokenize`, which vLLM serves and TabbyAPI does not): where it
 * counts the first prompt otherwise than the client, every prompt that is too long there is cut to its length.
 */
import type { SampleRequest } from '../dataset/sample.ts';
import { type JsonPoster, undiciPoster } from '../dataset/tokenizer-server.ts';
import type { RunOptions } from '../options/table.ts';
import { pythonJson } from '../python-json.ts';
import type { ServerFound } from '../transport/server.ts';
import { poolWay } from './run-target.ts';

/** Data sets whose prompts are made of token ids. */
const GENERATED = new Set(['random', 'prefix_repetition']);
/** As many as vLLM has under way. */
const IN_FLIGHT = 64;

/** What came of it. */
export interface Aligned {
  readonly samples: readonly SampleRequest[];
  /** Lines for the user. */
  readonly notes: readonly string[];
}

/** Asks the server, unless it is TabbyAPI or the prompts come from a file. */
export async function alignPrompts(
  options: RunOptions,
  server: ServerFound,
  dataSet: string,
  samples: readonly SampleRequest[],
): Promise<Aligned> {
  const first = samples[0];
  if (server.kind === 'tabbyapi' || !GENERATED.has(dataSet) || typeof first?.prompt !== 'string') {
    return { samples, notes: [] };
  }
  const url = new URL(options.baseUrl);
  const poster = undiciPoster({ origin: url.origin, ...poolWay(options) });
  const asker = new Asker(poster, url.pathname.replace(/\/+$/, ''), options.model ?? server.model ?? '');
  try {
    const tokens = await asker.tokenize(first.prompt).catch(() => null);
    if (tokens === null || tokens.length === first.promptLen) return { samples, notes: [] };
    const aligned = await alignAll(asker, samples);
    const note = `the server counts ${tokens.length} tokens where the tokenizer here counts ${first.promptLen}: prompts that are longer there were cut`;
    return { samples: aligned, notes: [note] };
  } finally {
    await poster.close();
  }
}

async function alignAll(asker: Asker, samples: readonly SampleRequest[]): Promise<readonly SampleRequest[]> {
  const out = [...samples];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < samples.length) {
      const i = next++;
      // A prompt that the server cannot handle stays as it is.
      out[i] = await alignOne(asker, samples[i] as SampleRequest).catch(() => samples[i] as SampleRequest);
    }
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, samples.length) }, lane));
  return out;
}

async function alignOne(asker: Asker, sample: SampleRequest): Promise<SampleRequest> {
  if (typeof sample.prompt !== 'string') return sample;
  const tokens = await asker.tokenize(sample.prompt);
  if (tokens.length <= sample.promptLen) return sample;
  return { ...sample, prompt: await asker.detokenize(tokens.slice(0, sample.promptLen)) };
}

class Asker {
  private readonly poster: JsonPoster;
  private readonly basePath: string;
  private readonly model: string;

  constructor(poster: JsonPoster, basePath: string, model: string) {
    this.poster = poster;
    this.basePath = basePath;
    this.model = model;
  }

  async tokenize(prompt: string): Promise<readonly number[]> {
    const answer = await this.ask('/tokenize', pythonJson({ model: this.model, prompt, add_special_tokens: false }));
    const { tokens } = answer as { tokens: unknown };
    if (!Array.isArray(tokens)) throw new Error('no tokens');
    return tokens as readonly number[];
  }

  async detokenize(tokens: readonly number[]): Promise<string> {
    const { prompt } = (await this.ask('/detokenize', pythonJson({ model: this.model, tokens }))) as {
      prompt: unknown;
    };
    if (typeof prompt !== 'string') throw new Error('no prompt');
    return prompt;
  }

  private async ask(path: string, body: string): Promise<unknown> {
    const { status, text } = await this.poster.post(`${this.basePath}${path}`, body);
    if (status !== 200) throw new Error(`status ${status}`);
    return JSON.parse(text) as unknown;
  }
}

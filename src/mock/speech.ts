/** Puts the tokens of one choice together into what one event says. */
import type { EventParts } from './frames.ts';
import type { Generation } from './request.ts';
import { chatLogprobs, completionLogprobs, type Said, type Voice } from './voice.ts';

/** Content, reasoning, and what log probabilities are told for, of some tokens. */
interface Heard {
  readonly content: string;
  readonly reasoning: string;
  readonly texts: readonly string[];
  readonly tagged: boolean;
}

function hear(voice: Voice, count: number): Heard {
  const said: Said[] = Array.from({ length: count }, () => voice.next());
  const of = (channel: Said['channel']): string[] =>
    said.filter((token) => token.channel === channel).map(({ text }) => text);
  const texts = of('content');
  return { content: texts.join(''), reasoning: of('reasoning').join(''), texts, tagged: of('hidden').length > 0 };
}

/** The events of one choice, one after the other. */
export class Speech {
  private readonly voice: Voice;
  private readonly generation: Generation;
  private readonly index: number;
  /** White space after a thought, held back until content follows. */
  private held = '';

  constructor(voice: Voice, generation: Generation, index: number) {
    this.voice = voice;
    this.generation = generation;
    this.index = index;
  }

  /** The event of `count` more tokens; null when they show nothing (tags, tool calls being written, held white space). */
  say(count: number): EventParts | null {
    const heard = hear(this.voice, count);
    let content = this.held + heard.content;
    this.held = '';
    if (this.voice.hasReasoning && content.trim() === '') {
      this.held = content;
      content = '';
    }
    if (content === '' && heard.reasoning === '') return null;
    return {
      index: this.index,
      content: content === '' ? undefined : content,
      reasoning: heard.reasoning === '' ? undefined : heard.reasoning,
      logprobs: this.logprobs(heard),
    };
  }

  /** One entry per token of content; none where a tag occurs among the tokens. */
  private logprobs({ texts, tagged }: Heard): EventParts['logprobs'] {
    const { kind, topLogprobs } = this.generation;
    if (topLogprobs === null || tagged || texts.length === 0) return undefined;
    return (kind === 'chat' ? chatLogprobs : completionLogprobs)(texts, topLogprobs);
  }
}

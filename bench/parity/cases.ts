/** Command lines that both clients are given. `DATA` stands for the folder of the data sets. */

/** One comparison. */
export interface ParityCase {
  readonly name: string;
  readonly args: readonly string[];
  /** One request at a time: they must come in the same order. */
  readonly isOrdered: boolean;
  /** At planned times. */
  readonly isPlanned?: boolean;
}

const CHAT = ['--backend', 'openai-chat', '--endpoint', '/v1/chat/completions'];
const RANDOM = ['--dataset-name', 'random', '--random-input-len', '32', '--random-output-len', '8'];

function parity(name: string, words: string, isOrdered = false): ParityCase {
  return { name, args: words.split(' ').filter((word) => word !== ''), isOrdered };
}

const ONE_BY_ONE = '--max-concurrency 1';

/** All of them, small: what is compared is what is asked, not how fast. */
export const CASES: readonly ParityCase[] = [
  { name: 'random, chat', args: [...CHAT, ...RANDOM, '--num-prompts', '20'], isOrdered: false },
  { name: 'random, completions', args: [...RANDOM, '--num-prompts', '12', '--max-concurrency', '1'], isOrdered: true },
  {
    name: 'random, range and prefix',
    args: [...CHAT, ...RANDOM, '--random-range-ratio', '0.3', '--random-prefix-len', '7', '--seed', '5', '--num-prompts', '20'],
    isOrdered: false,
  },
  {
    name: 'open loop',
    args: [...CHAT, ...RANDOM, '--num-prompts', '20', '--request-rate', '40', '--burstiness', '0.7', '--max-concurrency', '8'],
    isOrdered: false,
    isPlanned: true,
  },
  {
    name: 'linear ramp',
    args: [...CHAT, ...RANDOM, '--num-prompts', '20', '--ramp-up-strategy', 'linear', '--ramp-up-start-rps', '10', '--ramp-up-end-rps', '60'],
    isOrdered: false,
    isPlanned: true,
  },
  parity('sharegpt', `${CHAT.join(' ')} --dataset-name sharegpt --dataset-path DATA/sharegpt.json --num-prompts 12 ${ONE_BY_ONE}`, true),
  parity('sharegpt, output length', `${CHAT.join(' ')} --dataset-name sharegpt --dataset-path DATA/sharegpt.json --num-prompts 30 --sharegpt-output-len 9 --seed 3`),
  parity('custom', `${CHAT.join(' ')} --dataset-name custom --dataset-path DATA/custom.jsonl --num-prompts 6 --custom-output-len 7 --skip-chat-template ${ONE_BY_ONE}`, true),
  parity('sonnet', `${CHAT.join(' ')} --dataset-name sonnet --dataset-path DATA/sonnet.txt --num-prompts 6 --sonnet-input-len 220 --sonnet-output-len 6 --sonnet-prefix-len 100 ${ONE_BY_ONE}`, true),
  parity('prefix repetition', `${CHAT.join(' ')} --dataset-name prefix_repetition --num-prompts 12 --prefix-repetition-prefix-len 20 --prefix-repetition-suffix-len 10 --prefix-repetition-num-prefixes 3 --prefix-repetition-output-len 5 ${ONE_BY_ONE}`, true),
  parity('sampling options', `${CHAT.join(' ')} ${RANDOM.join(' ')} --num-prompts 4 --temperature 0.5 --top-p 0.9 --top-k 20 --ignore-eos --extra-body {"logprobs":false} ${ONE_BY_ONE}`, true),
  parity('warm-ups and ready check', `${CHAT.join(' ')} ${RANDOM.join(' ')} --num-prompts 5 --num-warmups 3 --ready-check-timeout-sec 5 ${ONE_BY_ONE}`, true),
  parity('goodput and detail', `${CHAT.join(' ')} ${RANDOM.join(' ')} --num-prompts 8 --goodput ttft:500 tpot:50 --metadata build=7 note=x --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,99 ${ONE_BY_ONE}`, true),
  parity('burstgpt', `${CHAT.join(' ')} --dataset-name burstgpt --dataset-path DATA/burstgpt.csv --num-prompts 6 ${ONE_BY_ONE}`, true),
  parity('spec-bench', `${CHAT.join(' ')} --dataset-name spec_bench --dataset-path DATA/spec_bench.jsonl --num-prompts 8 --spec-bench-output-len 6 ${ONE_BY_ONE}`, true),
  parity('no shuffle, no oversampling', `${CHAT.join(' ')} --dataset-name custom --dataset-path DATA/custom.jsonl --num-prompts 50 --disable-shuffle --no-oversample --skip-chat-template ${ONE_BY_ONE}`, true),
  parity('chat template', `--dataset-name custom --dataset-path DATA/custom.jsonl --num-prompts 5 ${ONE_BY_ONE}`, true),
  parity('logprobs and headers', `--backend vllm ${RANDOM.join(' ')} --num-prompts 4 --logprobs 2 --header X-One=1 X-Two=2 --request-id-prefix mine- ${ONE_BY_ONE}`, true),
  { name: 'exponential ramp', args: [...RANDOM, '--num-prompts', '20', '--ramp-up-strategy', 'exponential', '--ramp-up-start-rps', '10', '--ramp-up-end-rps', '60'], isOrdered: false, isPlanned: true },
  parity('LoRA modules', `${CHAT.join(' ')} ${RANDOM.join(' ')} --num-prompts 12 --lora-modules a b c ${ONE_BY_ONE}`, true),
  parity('LoRA modules in turn', `${CHAT.join(' ')} ${RANDOM.join(' ')} --num-prompts 7 --lora-modules a b c --lora-assignment round-robin ${ONE_BY_ONE}`, true),
]; // biome-ignore format: command lines

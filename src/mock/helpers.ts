/** The endpoints beside completions: models, tokens, health, properties, loading. */
import { nowMs } from '../record/clock.ts';
import { checkApiKey, type Permission } from './auth.ts';
import { type Answer, detailAnswer, internalErrorAnswer, jsonAnswer, validationAnswer } from './bodies.ts';
import type { Exchange } from './connection.ts';
import type { MockContext } from './context.ts';
import { chunkOf } from './frames.ts';
import { dumpsCompact, type PyJson, py } from './pyjson.ts';
import { parseBody, templateMessages } from './request.ts';
import { eventStreamHead } from './respond.ts';
import { countTokens, decodeTokens, encodeMessages, encodeText, SPECIAL } from './tokenizer.ts';

const TEMPLATE =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}' +
  '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

/** Modules a model is made of, as far as loading tells. */
const MODULES = 6;
/** Between two of them. */
const LOAD_STEP_MS = 20;

function created(context: MockContext): number {
  return context.wall.at(nowMs());
}

function modelCard(context: MockContext, id: string, parameters: PyJson): PyJson {
  return { id, object: 'model', created: created(context), owned_by: 'tabbyAPI', logging: null, parameters };
}

/** GET /v1/model: the loaded model with its limits; 503 when there is none. */
export function currentModel(context: MockContext): Answer {
  const { options, state } = context;
  if (state.model === null) return detailAnswer(503, 'No models are currently loaded.');
  return jsonAnswer(
    200,
    modelCard(context, state.model, {
      max_seq_len: options.maxSeqLen,
      cache_size: options.cacheSize,
      cache_mode: 'FP16',
      rope_scale: py(1),
      rope_alpha: py(1),
      max_batch_size: options.slots,
      chunk_size: options.chunkSize,
      prompt_template: 'from_tokenizer_config',
      prompt_template_content: TEMPLATE,
      use_vision: false,
      draft: null,
    }),
  );
}

/** Name of the model folder that is never loaded. */
function otherModel(context: MockContext): string {
  return `${context.options.model}-other`;
}

/** GET /v1/models: with an API key the loaded model only, for an admin every folder, loaded or not. */
export function listModels(context: MockContext, permission: Permission): Answer {
  const { options, state } = context;
  if (options.style === 'openai') return jsonAnswer(200, openaiModels(context));
  const loaded = state.model === null ? [] : [state.model];
  const names = permission === 'admin' ? [options.model, otherModel(context)] : loaded;
  return jsonAnswer(200, { object: 'list', data: names.map((name) => modelCard(context, name, null)) });
}

function openaiModels(context: MockContext): PyJson {
  const { options } = context;
  const card = {
    id: options.model,
    object: 'model',
    created: created(context),
    owned_by: 'vllm',
    root: options.model,
    parent: null,
    max_model_len: options.maxSeqLen,
    permission: [],
  };
  return { object: 'list', data: [card] };
}

/** GET /health: 503 for good once a generation has failed, whatever works since. */
export function health(context: MockContext): Answer {
  const { issues } = context.state;
  if (context.options.style === 'openai') return { status: 200, body: '', headers: [['content-length', '0']] };
  const status = issues.length === 0 ? 'healthy' : 'unhealthy';
  return jsonAnswer(issues.length === 0 ? 200 : 503, { status, issues });
}

/** GET /props, llama.cpp's form. */
export function props(context: MockContext): Answer {
  const { options } = context;
  return jsonAnswer(200, {
    total_slots: options.slots,
    chat_template: TEMPLATE,
    default_generation_settings: { n_ctx: options.maxSeqLen },
  });
}

/** POST /v1/token/encode: `text` is a string or messages (template applied, without the prompt to answer). */
export function encode(context: MockContext, exchange: Exchange): Answer {
  const parsed = parseBody(exchange.request.body, exchange.request.headers.get('content-type'));
  if ('answer' in parsed) return parsed.answer;
  if (context.state.model === null) return detailAnswer(503, 'No models are currently loaded.');
  const { text } = parsed.body;
  if (text === undefined) return missing('text', parsed.body as PyJson);
  // True by default even where the model itself adds none.
  const bos = parsed.body['add_bos_token'] !== false ? [SPECIAL.bos] : [];
  let ids: number[];
  if (typeof text === 'string') ids = encodeText(text);
  else if (Array.isArray(text)) ids = encodeMessages(templateMessages(text), false);
  else return internalErrorAnswer();
  return jsonAnswer(200, { tokens: [...bos, ...ids], length: bos.length + ids.length });
}

function missing(field: string, input: PyJson): Answer {
  return validationAnswer([{ type: 'missing', loc: ['body', field], msg: 'Field required', input }]);
}

/** POST /v1/token/decode. */
export function decode(context: MockContext, exchange: Exchange): Answer {
  const parsed = parseBody(exchange.request.body, exchange.request.headers.get('content-type'));
  if ('answer' in parsed) return parsed.answer;
  if (context.state.model === null) return detailAnswer(503, 'No models are currently loaded.');
  const { tokens } = parsed.body;
  if (!Array.isArray(tokens)) return missing('tokens', parsed.body as PyJson);
  return jsonAnswer(200, { text: decodeTokens(tokens.map(Number)) });
}

/** POST /tokenize, vLLM's form. */
export function vllmTokenize(context: MockContext, exchange: Exchange): Answer {
  const parsed = parseBody(exchange.request.body, exchange.request.headers.get('content-type'));
  if ('answer' in parsed) return parsed.answer;
  const prompt = String(parsed.body['prompt'] ?? '');
  const count = countTokens(prompt);
  return jsonAnswer(200, {
    count,
    max_model_len: context.options.maxSeqLen,
    tokens: encodeText(prompt),
    token_strs: null,
  });
}

/** GET /v1/auth/permission. */
export function permission(context: MockContext, exchange: Exchange): Answer {
  const { apiKey, adminKey } = context.options;
  // The admin header counts here, unlike on the other API endpoints.
  const admin = exchange.request.headers.get('x-admin-key');
  if (apiKey !== '' && adminKey !== '' && admin === adminKey) return jsonAnswer(200, { permission: 'admin' });
  const found = checkApiKey(context.options, exchange.request);
  return typeof found === 'string' ? jsonAnswer(200, { permission: found }) : found;
}

/** POST /v1/model/unload: every running stream hangs. */
export function unload(context: MockContext): Answer {
  if (context.state.model === null) return detailAnswer(503, 'No models are currently loaded.');
  context.state.model = null;
  context.engine.failAll(null);
  return jsonAnswer(200, null);
}

/** POST /v1/model/load: progress as events, then the model is there; the stream's end is the end. */
export function load(context: MockContext, exchange: Exchange): Answer | undefined {
  const parsed = parseBody(exchange.request.body, exchange.request.headers.get('content-type'));
  if ('answer' in parsed) {
    return parsed.answer;
  }
  const name = parsed.body['model_name'];
  if (typeof name !== 'string') {
    return missing('model_name', parsed.body as PyJson);
  }
  if (name !== context.options.model && name !== otherModel(context)) {
    const detail = 'Could not find the model path for load. Check model name or config.yml?';
    return detailAnswer(400, detail);
  }
  if (context.state.model === name) {
    const detail = `Model "${name}" is already loaded! Aborting.`;
    return detailAnswer(400, detail);
  }
  context.state.model = null;
  context.stats.response(200);
  exchange.write(eventStreamHead(context, exchange, []));
  loadWhenFree(context, exchange, name);
  return undefined;
}

/** The jobs of the model that goes are waited for. */
function loadWhenFree(context: MockContext, exchange: Exchange, name: string): void {
  if (context.engine.load.running === 0) loadStep(context, exchange, name, 1);
  else context.pump.at(nowMs() + LOAD_STEP_MS, () => loadWhenFree(context, exchange, name));
}

/** A client that leaves does not stop the loading. */
function loadStep(context: MockContext, exchange: Exchange, name: string, step: number): void {
  const { lineEnd, pump, state } = context;
  const finished = step > MODULES;
  const progress = { model_type: 'model', module: Math.min(step, MODULES), modules: MODULES };
  const json = dumpsCompact({ ...progress, status: finished ? 'finished' : 'processing' });
  const text = `data: ${json}${lineEnd}${lineEnd}`;
  exchange.write(exchange.chunked ? chunkOf(text) : text);
  if (!finished) {
    pump.at(nowMs() + LOAD_STEP_MS, () => loadStep(context, exchange, name, step + 1));
    return;
  }
  state.model = name;
  if (exchange.chunked) exchange.write(chunkOf(''));
  exchange.finish();
}

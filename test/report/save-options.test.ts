/** Where results and plots go, by the options that vLLM has for it. Facts are those of `vllm bench serve` 0.30.0. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { reportCommand } from '../../src/commands/report.ts';
import { parseCommandLine } from '../../src/options/parse.ts';
import { localStamp } from '../../src/report/finish.ts';
import { beside } from '../../src/report/result-file.ts';
import { END, folder, HEADER, msgpackBytes, request } from '../record/builder.ts';

const dir = folder();
afterAll(dir.remove);
afterEach(() => vi.restoreAllMocks());

const RECORDS = dir.file('run.msgpack', msgpackBytes([HEADER, request(0, { generated_text: 'hi' }), request(1), END]));
/** As in names of files; the local time of the header's `started_at`. */
const DATE = localStamp(HEADER.started_at);

let out = '';
let count = 0;
beforeEach(() => {
  out = join(dir.path, `out${count++}`);
  mkdirSync(out);
});

/** Runs `report` with these options and returns what it wrote to stderr. */
async function report(...options: string[]): Promise<string> {
  let err = '';
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += String(text);
    return true;
  });
  const line = await parseCommandLine(['report', RECORDS, ...options], {});
  if (line.command !== 'report') throw new Error('not a report');
  expect(await reportCommand(line.options)).toBe(0);
  return err;
}

const json = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
const keys = (path: string) => [...readFileSync(path, 'utf8').matchAll(/[{,] "(\w+)": /g)].map((match) => match[1]);

describe('--save-result', () => {
  it('writes one document under a name made of label or backend, rate, model and date', async () => {
    const err = await report('--save-result', '--result-dir', out);
    expect(readdirSync(out)).toEqual([`openai-chat-infqps-m-${DATE}.json`]);
    expect(err).toContain(`tabby-load: result: ${join(out, `openai-chat-infqps-m-${DATE}.json`)}`);
    await report(
      '--save-result',
      '--result-dir',
      out,
      '--label',
      'base',
      '--max-concurrency',
      '4',
      '--request-rate',
      '2',
    );
    expect(readdirSync(out).sort()[0]).toBe(`base-2.0qps-concurrency4-m-${DATE}.json`);
    expect(json(join(out, `base-2.0qps-concurrency4-m-${DATE}.json`))['label']).toBe('base');
  });

  it('makes the folder, and takes the name given, below it or absolute', async () => {
    const deep = join(out, 'a', 'b');
    await report('--save-result', '--result-dir', deep, '--result-filename', 'r.json');
    expect(readdirSync(deep)).toEqual(['r.json']);
    const absolute = join(out, 'abs.json');
    await report('--save-result', '--result-dir', deep, '--result-filename', absolute);
    expect(json(absolute)['completed']).toBe(2);
    expect(readdirSync(deep)).toEqual(['r.json']);
  });

  it('writes over what was there, while --append-result adds a line', async () => {
    const place = ['--result-dir', out, '--result-filename', 'r.json', '--quiet'];
    await report('--save-result', ...place);
    await report('--save-result', ...place);
    const once = readFileSync(join(out, 'r.json'), 'utf8');
    expect(once.split('\n').length).toBe(1);
    // Alone, and with --save-result too, as in vLLM.
    await report('--append-result', ...place);
    await report('--append-result', '--save-result', ...place);
    const lines = readFileSync(join(out, 'r.json'), 'utf8').split('\n');
    expect(lines[0]).toBe(once);
    expect(lines.map((line) => JSON.parse(line)['completed'])).toEqual([2, 2, 2]);
    // What had its own line end gets an empty line, as vLLM writes its line feed before each result.
    writeFileSync(join(out, 'own.json'), '{}\n');
    await report('--append-result', '--result-dir', out, '--result-filename', 'own.json');
    expect(readFileSync(join(out, 'own.json'), 'utf8').split('\n').length).toBe(3);
  });

  it('is refused before anything is read when the place cannot be written', async () => {
    writeFileSync(join(out, 'file'), '');
    for (const options of [['--save-result'], ['--append-result'], ['--plot-timeline']]) {
      await expect(report(...options, '--result-dir', join(out, 'file'))).rejects.toThrow('cannot be written');
    }
    mkdirSync(join(out, 'x.timeline.html'));
    await expect(report('--plot-timeline', '--result-dir', out, '--result-filename', 'x.json')).rejects.toThrow(
      '--plot-timeline',
    );
  });
});

describe('--save-detailed', () => {
  const DETAILED = ['input_lens', 'output_lens', 'ttfts', 'itls', 'start_times', 'generated_texts', 'errors'];

  it("adds the requests' values where vLLM has them", async () => {
    const place = (name: string) => ['--save-result', '--result-dir', out, '--result-filename', name];
    await report('--save-detailed', ...place('all.json'));
    await report(...place('few.json'));
    expect(json(join(out, 'all.json'))).toMatchObject({
      input_lens: [12, 12],
      output_lens: [4, 4],
      ttfts: [0.1, 0.101],
      start_times: [5000, 5001],
      generated_texts: ['hi', ''],
      errors: ['', ''],
      latencies: [0.16, 0.161],
      queue_times: [0, 0],
    });
    expect(keys(join(out, 'few.json'))).toEqual(
      keys(join(out, 'all.json')).filter((key) => !DETAILED.includes(key as string)),
    );
  });

  it('says when there is no file to write them to', async () => {
    expect(await report('--save-detailed')).toContain('--save-detailed has no effect');
    expect(await report('--save-detailed', '--json', join(out, 'j.json'))).not.toContain('no effect');
    expect(json(join(out, 'j.json'))).toHaveProperty('itls');
  });
});

describe('--metadata', () => {
  it('stands as given behind num_prompts, as text, and yields to the keys that follow', async () => {
    const more = [
      'version=0.3.3',
      '7=seven',
      '2=two',
      'tp=1',
      'url=a=b',
      ' spaced = x ',
      'max_tokens=512',
      'duration=9',
      'date=today',
    ];
    await report('--save-result', '--result-dir', out, '--result-filename', 'm.json', '--metadata', ...more);
    const result = json(join(out, 'm.json'));
    expect(result).toMatchObject({
      version: '0.3.3',
      tp: '1',
      url: 'a=b',
      spaced: 'x',
      max_tokens: '512',
      date: 'today',
    });
    expect(result['duration']).toBe(2.5);
    const names = keys(join(out, 'm.json'));
    const at = names.indexOf('num_prompts');
    expect(names.slice(at + 1, at + 10)).toEqual([
      'version',
      '7',
      '2',
      'tp',
      'url',
      'spaced',
      'max_tokens',
      'duration',
      'request_rate',
    ]);
  });
});

describe('plots', () => {
  it('stand beside the result, under its name', async () => {
    const err = await report(
      '--plot-timeline',
      '--plot-dataset-stats',
      '--save-result',
      '--result-dir',
      out,
      '--result-filename',
      'r.json',
    );
    expect(readdirSync(out).sort()).toEqual(['r.dataset_stats.html', 'r.json', 'r.timeline.html']);
    expect(err).toContain(`tabby-load: plot-timeline: ${join(out, 'r.timeline.html')}`);
    expect(readFileSync(join(out, 'r.timeline.html'), 'utf8')).toContain('gaps below 25 ms');
    expect(readFileSync(join(out, 'r.dataset_stats.html'), 'utf8')).toContain('Prompt tokens: 12 to 12');
    expect(beside('/a.b/name', '.timeline.html')).toBe('/a.b/name.timeline.html');
    expect(Buffer.byteLength(beside(`${'é'.repeat(120)}.json`, '.dataset_stats.html'))).toBeLessThanOrEqual(255);
  });

  it('need no result file for the timeline', async () => {
    await report('--plot-timeline', '--result-dir', out, '--timeline-itl-thresholds', '5,15');
    expect(readdirSync(out)).toEqual([`openai-chat-infqps-m-${DATE}.timeline.html`]);
    expect(readFileSync(join(out, readdirSync(out)[0] as string), 'utf8')).toContain('5 ms to below 15 ms');
  });

  it('are left out with a word when the values were not kept', async () => {
    const err = await report('--plot-timeline', '--result-dir', out, '--max-exact-values', '1');
    expect(err).toContain('warning: no plots');
    expect(existsSync(out) && readdirSync(out)).toEqual([]);
  });
});

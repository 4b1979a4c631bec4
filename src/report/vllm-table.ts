/** The result table and the lines about failed requests as `vllm bench serve` 0.30.0 prints them, character by character. */
import { centred, percentileName, pythonFixed } from './python-format.ts';
import { printable } from './terminal.ts';
import { perSecond, probeStats, type ResultParts, selectedMetrics } from './vllm-result.ts';

const WIDTH = 50;

/** All lines: failures first, then the table. */
export function vllmTable(parts: ResultParts): string[] {
  return [...failureLines(parts), ...tableLines(parts)];
}

/** The first ten failures, one line each, or more when the words of the failure have line breaks. */
export function failureLines({ settings, summary }: ResultParts): string[] {
  if (summary.failed === 0 || settings.pooling) return [];
  return [
    'Failed requests during benchmark run detected (capping to 10):',
    ...summary.firstErrors.flatMap((error, k) => errorLines(`Error ${k}: ${error}`)),
  ];
}

/** The table alone. */
export function tableLines(parts: ResultParts): string[] {
  return [
    centred(' Serving Benchmark Result ', WIDTH, '='),
    ...countLines(parts),
    ...rateLines(parts),
    ...probeLines(parts),
    ...metricLines(parts),
    ...(parts.diffusion === null ? specDecodeLines(parts) : diffusionLines(parts)),
    '='.repeat(WIDTH),
  ];
}

function countLines({ settings, summary }: ResultParts): string[] {
  return [
    whole('Successful requests:', summary.completed),
    whole('Failed requests:', summary.failed),
    ...(settings.maxConcurrency === null ? [] : [whole('Maximum request concurrency:', settings.maxConcurrency)]),
    ...(settings.requestRate === Number.POSITIVE_INFINITY
      ? []
      : [fixed('Request rate configured (RPS):', settings.requestRate)]),
    fixed('Benchmark duration (s):', summary.durationS),
    whole('Total input tokens:', summary.inputTokens),
    ...(settings.pooling || !settings.hasTokenizer ? [] : [whole('Total generated tokens:', summary.outputTokens)]),
  ];
}

function rateLines({ settings, summary }: ResultParts): string[] {
  const lines = [fixed('Request throughput (req/s):', perSecond(summary.completed, summary))];
  if (settings.pooling) {
    lines.push(fixed('Input throughput (inputs/s):', perSecond(summary.inputSequences, summary)));
    if (settings.hasTokenizer) {
      lines.push(fixed('Total token throughput (tok/s):', perSecond(summary.inputTokens, summary)));
    }
    return lines;
  }
  if (settings.goodput !== null) {
    lines.push(fixed('Request goodput (req/s):', perSecond(summary.goodRequests, summary)));
  }
  if (settings.hasTokenizer) {
    lines.push(
      fixed('Output token throughput (tok/s):', perSecond(summary.outputTokens, summary)),
      fixed('Peak output token throughput (tok/s):', summary.maxOutputTokensPerS),
    );
  }
  lines.push(fixed('Peak concurrent requests:', summary.maxConcurrentRequests));
  const rtfx = perSecond(summary.inputAudioS, summary);
  if (rtfx > 0) lines.push(fixed('RTFx (Inverse Real-Time Factor):', rtfx));
  if (settings.hasTokenizer) {
    const tokens = summary.inputTokens + summary.outputTokens;
    lines.push(fixed('Total token throughput (tok/s):', perSecond(tokens, summary)));
  }
  return lines;
}

function probeLines({ probe }: ResultParts): string[] {
  const probes = probeStats(probe);
  if (probes === null) return [];
  return [
    heading('Probe Requests'),
    whole('Probe requests completed:', probes.completed),
    whole('Probe requests failed:', probes.failed),
    fixed('Median probe E2EL (ms):', probes.medianMs),
    fixed('P99 probe E2EL (ms):', probes.p99Ms),
    fixed('Max probe E2EL (ms):', probes.maxMs),
  ];
}

function metricLines({ settings, summary }: ResultParts): string[] {
  return selectedMetrics(settings).flatMap(({ key, label, header }) => {
    const series = summary.metrics[key];
    return [
      heading(header),
      fixed(`Mean ${label} (ms):`, series.meanMs),
      fixed(`Median ${label} (ms):`, series.medianMs),
      ...settings.percentiles.map((p) =>
        fixed(`P${percentileName(p)} ${label} (ms):`, series.percentilesMs.get(p) ?? 0),
      ),
    ];
  });
}

function diffusionLines({ diffusion }: ResultParts): string[] {
  if (diffusion === null) return [];
  return [
    heading('Diffusion Decoding'),
    fixed('Committed throughput (tok/s):', diffusion.committedThroughput),
    fixed('Denoising steps per canvas:', diffusion.stepsPerCanvas),
    fixed('Committed per denoising step:', diffusion.committedPerStep),
    whole('Committed tokens:', diffusion.committedTokens),
    whole('Denoising steps:', diffusion.denoisingSteps),
    whole('Canvas positions evaluated:', diffusion.canvasPositions),
  ];
}

function specDecodeLines({ specDecode }: ResultParts): string[] {
  if (specDecode === null) return [];
  const positions = specDecode.perPositionRates;
  return [
    heading('Speculative Decoding'),
    fixed('Acceptance rate (%):', specDecode.acceptanceRate),
    fixed('Acceptance length:', specDecode.acceptanceLength),
    whole('Drafts:', specDecode.numDrafts),
    whole('Draft tokens:', specDecode.draftTokens),
    whole('Accepted tokens:', specDecode.acceptedTokens),
    ...(positions.length === 0 ? [] : ['Per-position acceptance (%):']),
    ...positions.map((rate, k) => fixed(`  Position ${k}:`, rate * 100)),
  ];
}

function heading(text: string): string {
  return centred(text, WIDTH, '-');
}

function whole(label: string, value: number): string {
  return `${label.padEnd(40)} ${`${value}`.padEnd(10)}`;
}

function fixed(label: string, value: number): string {
  return `${label.padEnd(40)} ${pythonFixed(value, 2).padEnd(10)}`;
}

/** A server's words may have several lines, as in vLLM's output. The further ones are set in, so that none can pass for a line of ours. */
function errorLines(text: string): string[] {
  return text.split('\n').map((line, k) => `${k === 0 ? '' : '    '}${printable(line)}`);
}

/** Writes a finished report where the user asked for it. */
import { wallClock } from '../record/clock.ts';
import type { RecordHeader } from '../record/record.ts';
import type { FinishedReport } from '../report/finish.ts';
import { resultChunks } from '../report/json.ts';
import { resultPath, writeResult } from '../report/result-file.ts';
import { settingsOf } from '../report/settings.ts';
import { printErr, writeOut } from '../report/terminal.ts';

/** Options that say where a report goes. */
export interface SavePlaces {
  readonly json: string | null;
  readonly saveResult: boolean;
  readonly appendResult: boolean;
  readonly resultDir: string | null;
  readonly resultFilename: string | null;
}

/** Result file (`--save-result`), `--json FILE`, `--json -` (stdout). Throws a usage error when one cannot be written. */
export async function saveReport(places: SavePlaces, finished: FinishedReport, header: RecordHeader): Promise<void> {
  const { result } = finished;
  if (places.json === '-') for (const chunk of resultChunks(result)) writeOut(chunk);
  else if (places.json !== null) await writeResult(places.json, result, false, '--json');
  if (!places.saveResult && !places.appendResult) return;
  const date = result.get('date');
  const path = resultPath(
    settingsOf(header.options),
    places,
    typeof date === 'string' ? date : wallClock().toISOString(),
  );
  await writeResult(path, result, places.appendResult, '--result-dir');
  printErr(`tabby-load: result: ${path}`);
}

/** A home of the tests' own: what a run keeps for the next must come from no earlier one, and stay behind in none. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Name of the variable that tells the tests of it. */
export const HOME_VARIABLE = 'TABBY_LOAD_TEST_HOME';

/** Called by vitest before the first test; what it returns is called after the last. */
export default function setup(): () => void {
  const home = mkdtempSync(join(tmpdir(), 'tabby-load-home-'));
  process.env[HOME_VARIABLE] = home;
  return () => rmSync(home, { recursive: true, force: true });
}

/** Signals, dying threads, full disks and closed pipes. */
import { existsSync } from 'node:fs';
import { describe } from 'vitest';
import { PROCESS_RUNS } from '../support/fault-process.ts';
import { testFaultRuns } from '../support/fault-tests.ts';

describe('the program in mid-run', () =>
  testFaultRuns(PROCESS_RUNS.filter(({ title }) => !title.startsWith('full disks') || existsSync('/dev/full'))));

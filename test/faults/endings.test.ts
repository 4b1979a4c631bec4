/** Every ending of a request, through the whole program, against the table that the README promises. */
import { describe } from 'vitest';
import { ENDING_RUNS } from '../support/fault-endings.ts';
import { testFaultRuns } from '../support/fault-tests.ts';

describe('endings', () => testFaultRuns(ENDING_RUNS));

/** Servers that go away, come back, or fail more than a limit allows. */
import { describe } from 'vitest';
import { SERVER_RUNS } from '../support/fault-server.ts';
import { testFaultRuns } from '../support/fault-tests.ts';

describe('the server in mid-run', () => testFaultRuns(SERVER_RUNS));

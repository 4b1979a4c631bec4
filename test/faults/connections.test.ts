/** Proxies, unix sockets, TLS, both kinds of addresses; and starts that fail, each with its own words. */
import { describe } from 'vitest';
import { CONNECTION_RUNS } from '../support/fault-connections.ts';
import { testFaultRuns } from '../support/fault-tests.ts';

describe('connections', () => testFaultRuns(CONNECTION_RUNS));

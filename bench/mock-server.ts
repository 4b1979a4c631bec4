/** Starts the mock for the benches: options as JSON in the first argument. */
import { runMock } from '../src/commands/mock.ts';

process.exitCode = await runMock({ precise: true, ...JSON.parse(process.argv[2] ?? '{}') });

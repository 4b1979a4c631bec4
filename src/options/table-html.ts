import type { OptionTable } from './spec.ts';

/** The report as a page. */
export const HTML_OPTIONS = {
  html: {
    place: true,
    type: 'string',
    group: 'files',
    commands: ['run', 'sweep', 'report', 'compare'],
    default: null,
    metavar: 'FILE',
    help: 'Write the report as one HTML file with charts, which opens from disk and loads nothing.',
  },
} as const satisfies OptionTable;

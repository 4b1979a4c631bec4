/** Colours of the charts. The series are those of Okabe and Ito (2008), which are told apart with every kind of colour vision. */

/** What a chart is painted with. */
export interface Colours {
  readonly text: string;
  readonly dim: string;
  readonly line: string;
  readonly background: string;
  readonly band: string;
  readonly mark: string;
  readonly failed: string;
  /** Of the waterfall. */
  readonly waiting: string;
  readonly queue: string;
  readonly prefill: string;
  readonly decode: string;
  readonly series: readonly string[];
}

const SHARED = { queue: '#E69F00', prefill: '#0072B2', decode: '#56B4E9' } as const;

const LIGHT: Colours = {
  ...SHARED,
  text: '#1b1f24',
  dim: '#57606a',
  line: '#d9dce1',
  background: '#ffffff',
  band: 'rgba(0,114,178,0.10)',
  mark: '#a33d00',
  failed: '#D55E00',
  waiting: '#b9bec5',
  series: ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#9a6a00', '#2f8fc4'],
};

const DARK: Colours = {
  ...SHARED,
  text: '#e6e9ec',
  dim: '#a3abb5',
  line: '#363c44',
  background: '#14171b',
  band: 'rgba(86,180,233,0.16)',
  mark: '#ff9a5c',
  failed: '#ff7a2e',
  waiting: '#5b636d',
  series: ['#56B4E9', '#E69F00', '#2cc59b', '#e29ac3', '#F0E442', '#6ea8ff'],
};

/** Is the page dark: by the switch, else by the system? */
export function isDark(): boolean {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : chosen === 'dark';
}

/** The colours that hold now. */
export function colours(): Colours {
  return isDark() ? DARK : LIGHT;
}

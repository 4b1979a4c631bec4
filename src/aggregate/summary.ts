/** Placeholder: the figures of a run, filled by `collect.ts` and read by `report/`. */
export interface RunSummary {
  readonly completed: number;
  readonly failed: number;
}

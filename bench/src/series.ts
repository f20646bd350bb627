/** One row of the table. */
export interface Series {
  name: string;
  inFlight: number;
  operation: (n: number) => Promise<unknown>;
}

/** One problem of a configuration: the line and the path where it stands, and what would be right. */
export interface ConfigProblem {
  line: number;
  path: string;
  message: string;
}

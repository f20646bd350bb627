/** How an agent's CLI starts its MCP face: program, arguments, and the variables that say who it is. No secret is in it. */
export interface Shim {
  /** Absolute. */
  command: string;
  args: string[];
  env: Record<string, string>;
}

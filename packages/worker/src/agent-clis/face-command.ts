/** The command by which an agent's CLI starts its MCP face, with the variables that say who the agent is. It holds no secret. */
export interface FaceCommand {
  /** An absolute path. */
  command: string;
  args: string[];
  env: Record<string, string>;
}

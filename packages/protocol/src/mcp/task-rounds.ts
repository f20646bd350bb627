/** The most rounds of one task. */
export const maxTaskRounds = 100;

/** The name of the extension of MCP 2026-07-28 by which slow calls become tasks (SEP-2663). */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** Returns the id of the request of one round of a task. Round 0 is the call with which the task began. */
export function taskRoundId(taskId: string, round: number): string {
  return round === 0 ? taskId : `${taskId}.${round}`;
}

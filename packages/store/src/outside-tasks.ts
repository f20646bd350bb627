/** The table of the tasks that callers from outside gave to agents: its port, and the table on SQLite. */
export {
  isFinalState,
  type NewOutsideTask,
  type OutsideChange,
  type OutsideScope,
  type OutsideTask,
  type OutsideTaskQuery,
  type OutsideTaskState,
  type OutsideTasks,
} from './outside-tasks/outside-tasks.ts';
export {
  openSqliteOutsideTasks,
  resendRestoredTasks,
  verifyOutsideTasks,
} from './sqlite/outside-tasks/sqlite-outside-tasks.ts';

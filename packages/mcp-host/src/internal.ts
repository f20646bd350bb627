// For our own packages and programs only: anything here may change in any version.

export { definitionChangedError } from './definitions/definition-changed.ts';
export { markVariable } from './environment/inherited-variables.ts';
export { toolNameStart } from './inventory/tool-name.ts';
export { memoryOf } from './servers/processes/process-memory.ts';
export { endsWithin, startOfProcess } from './servers/processes/process-start-time.ts';
export { allProcesses, type ListedProcess } from './servers/processes/process-tree.ts';

export { type RunA2aOptions, type RunningA2a, runA2a } from './run-a2a.ts';

export { runShim, type ShimEnd, type ShimOptions } from './run-shim.ts';

export type { FaceRefusal } from '../shared-face/face-lines.ts';
export { runShim, type ShimEnd, type ShimOptions } from './run-shim.ts';

export {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  type GuardedInit,
} from './guarded-fetch.ts';
export { type NetworkFailure, networkFailure } from './network-failure.ts';

export { type CopiedStore, type CopyStoreOptions, copyStore } from './copy-store.ts';

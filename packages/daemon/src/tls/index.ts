export { readPair, TlsFiles, type TlsFilesOptions } from './tls-files.ts';

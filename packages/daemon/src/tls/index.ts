export { TlsFiles, type TlsFilesOptions } from './tls-files.ts';

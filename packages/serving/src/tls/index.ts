export { clientGroup } from './client-group.ts';
export { HandshakeQueue } from './handshake-queue.ts';
export { TlsFront, type TlsFrontOptions } from './tls-front.ts';
export {
  type CertificateLife,
  certificateLife,
  checkCertificate,
  endsSoon,
  lifeProblem,
  nameFor,
  pairProblem,
  type TlsPair,
} from './tls-pair.ts';

/** The contracts' tables, field by field, under their own names. */
export type {
  CienciaDetalhada,
  CienciaResumida,
  ConsentimentoDetalhado,
  ConsentimentoResumido,
  TitularAutenticadoStatus,
  TitularLoginUrl,
} from './adapters/consent/wire.ts'
export type { Assinatura, AssinaturaListada, Falha, RecipientKind } from './adapters/portal/wire.ts'
export type { TokenResponse } from './adapters/token/wire.ts'
export type { Claims, ValidationResponse } from './adapters/validation/wire.ts'

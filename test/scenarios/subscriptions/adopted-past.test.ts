import { evento, tell } from './story.ts'

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(32) }

// The portal has the subscription of a lost log, and another log adopts it.
tell(
  {
    'failures from before an adoption are recovered and count towards the deletion': `
      20 × (lose; 1 d), another log, apply, 1 × 1 h, recovered 20, failing 2026-11-20T12:00:00.000Z 9,
      days of errors 20, plan, threats 50/9`,
    // They are not recorded twice.
    'failures read before the adoption are recovered after it': `
      another log, settle, 5 × (lose; 4 × 6 h), inbox, apply, 1 × 1 h, inbox 1+ 2+ 3+ 4+ 5+,
      failing 2026-11-20T12:00:00.000Z 24, failures 5, recover on 2026-11-21, failures 5,
      known on 2026-11-20 recovered, recovered 5`,
    'the days before an adoption are requested until the portal shows them':
      '3 × (lose; 1 d), another log, portal 503, apply, 16 × 6 h, portal up, 3 × 1 h, recovered 3, parked 0',
    'errors before the last success do not affect the health of an adopted subscription':
      '3 × (lose; 1 d), deliver, another log, apply, 1 × 1 h, recovered 3, healthy',
    // The portal has deleted it after thirty days, and another lost log registers it again.
    'errors of a former registration do not affect the health of an adopted subscription': `
      30 × (lose; 1 d), apply, lose, 1 d, another log, apply, 1 × 1 h, recovered 29,
      failing 2026-12-20T12:00:00.000Z 28, failures 1`,
    'a created subscription recovers the failures of a deleted one from a lost log':
      '30 × (lose; 1 d), another log, plan create, apply, 1 × 1 h, recovered 29, healthy',
    'creating a subscription that the portal never had reads no earlier days': 'hastened',
    'earlier days are read once, not again for a subscription that is ours already':
      'another log, apply, apply, 1 × 1 h, hastened adopted=31',
  },
  { averba: { receiver, subscriptions: [{ evento }] } },
)

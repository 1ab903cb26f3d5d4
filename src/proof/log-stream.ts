/** The stream of the events about the log itself. */
export const logStream = 'log-main'
/** The first event of a log: its name, its keyring and the key of its checkpoints. */
export const beganType = 'log.began'
/** The event that adds the transition tables of new machines. */
export const machinesAddedType = 'log.machinesAdded'
/** The event after which a restored log continues under a new name. */
export const resumedType = 'log.resumed'

/** Every type of event about the log itself. */
export const logTypes = [beganType, machinesAddedType, resumedType] as const

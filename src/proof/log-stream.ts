/** The stream of what concerns the log as a whole. */
export const logStream = 'log-main'
/** The first event of a log: its name, its keyring and the key of its checkpoints. */
export const beganType = 'log.began'
/** The event that holds the tables of machines which the log did not know before. */
export const machinesAddedType = 'log.machinesAdded'
/** The event after which a restored log goes on under a name of its own. */
export const resumedType = 'log.resumed'

/** Every type of event that the log records of itself. */
export const logTypes = [beganType, machinesAddedType, resumedType] as const

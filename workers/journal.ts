import { withRecoveryAdvice } from "../src/actor/host/recovery-advice.ts";
import { runJournal } from "../src/actor/threads/thread-mains.ts";

export default withRecoveryAdvice(runJournal);

import { withRecoveryAdvice } from "../src/actor/host/recovery-advice.ts";
import { runJournal } from "../src/actor/threads/journal-main.ts";

export default withRecoveryAdvice(runJournal);

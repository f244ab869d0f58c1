-- Query-as-context, speed: what a step of coCondenser takes with spans and with queries, which are shorter, as
-- context, a step each in turn. The paper says it without numbers; the machine must be quiet.
-- cost: mini about a minute a seed
-- times: of the machine at hand; recorded ones stand beside them and are not mixed with them

settings.encoder_layers = settings.efficiency_layers
settings.context_steps = settings.efficiency_steps
use "main"

for seed in seeds() do
  local times = pretrain_interleaved("cocondenser", "span", random_encoder(), "cocondenser:query")
  note_row("span", cost("cost with spans", times, "cocondenser"))
  note_row("query", cost("cost with queries", times, "cocondenser:query"))
end

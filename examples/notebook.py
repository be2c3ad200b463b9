# ruff: noqa: B018 - cells end in what they show
# %% [markdown]
# # One home link, three queues
#
# A call and a download share a home's 30 Mbit/s. How long does the call wait, and what does the download get?
#
# The cells are in the percent format: open them in VS Code, Spyder or PyCharm, or make a notebook of them with
# `jupytext --to ipynb notebook.py`.

# %%
import sojourn

HOME = sojourn.Scenario.build(
    {
        "name": "home",
        "duration": "20s",
        "measure": {"from": "5s"},
        "link": [{"name": "dsl", "rate": "30Mbit", "shaper": "htb", "qdisc": "pfifo limit 200", "delay": "10ms"}],
        "flow": [
            {"name": "download", "cc": "cubic"},
            {"name": "call", "app": "voip"},
        ],
        "ping": [{"name": "ping"}],
    }
)

# %% [markdown]
# ## One run
# A run is a folder of files; in a notebook it shows its table.

# %%
fifo = sojourn.run(HOME, out="results/notebook/fifo")[0]
fifo

# %%
t_s, rtt_ms = fifo.series("flow.download.rtt")  # numpy arrays
f"{len(t_s)} samples; the smoothed RTT was at most {rtt_ms.max():.0f} ms"

# %% [markdown]
# ## Three queues
# The columns that matter, for each run; `summary(full=True)` has every number.

# %%
queues = {"fifo": "pfifo limit 200", "fq_codel": "fq_codel", "dualpi2": "dualpi2"}
for name, queue in queues.items():
    sojourn.run(HOME, {"link.dsl.qdisc": queue, "name": name}, out="results/notebook/queues")
together = sojourn.ResultSet.open("results/notebook/queues")
table = together.summary()
table

# %%
together.plot("rate", "rtt", "queue_delay", title="30 Mbit/s, 20 ms")

# %% [markdown]
# ## A seed is one draw
# DualPI2 marks at random. Five seeds say how much of a difference is chance.

# %%
seeds = sojourn.run(HOME, {"link.dsl.qdisc": "dualpi2"}, seeds=5, out="results/notebook/seeds")
spread = seeds.summary()["sojourn_p99_ms"]
f"sojourn p99 from {spread.min():.1f} to {spread.max():.1f} ms"

# %%
together.plot("ping_cdf")

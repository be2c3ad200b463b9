#!/bin/bash
# middlebox.sh UDP_TRAIN: runs every job of /run/out through our network between two hosts of the guest.
# In between nothing is written to the machine outside, which would disturb the guest's clock.
cp -r /run/out/. /run/tmp/jobs && "$1" forward /run/tmp/jobs && cp -r /run/tmp/jobs/. /run/out
